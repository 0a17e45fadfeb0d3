"""The built site: broken links fail."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.docs.place import CONFIG, SOURCES


def own_settings(folder: Path) -> None:
    """Our settings of the generator, for a site of a few pages in this folder."""
    config, _, rest = CONFIG.read_text("utf-8").partition("nav = [")
    config += rest.partition("\n]\n")[2].replace('paths = ["."]', f'paths = ["{CONFIG.parent}"]')
    (folder / "zensical.toml").write_text(config, "utf-8")


def zensical(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("text", "well"),
    [
        ("[there](other.md#part)", True),
        pytest.param("[there](missing.md)", False, marks=pytest.mark.slow),
        ("[there](other.md#no-such-part)", False),
        pytest.param("::: zoo.no_such_module", False, marks=pytest.mark.slow),
    ],
)
def test_the_generator_with_our_settings_refuses_broken_links(tmp_path, text, well):
    pytest.importorskip("zensical", reason="the extra docs is not installed")
    own_settings(tmp_path)
    pages = tmp_path / "build" / "docs" / "pages"
    pages.mkdir(parents=True)
    (pages / "index.md").write_text(f"# Home\n\n{text}\n", "utf-8")
    (pages / "site.css").write_bytes((SOURCES / "site.css").read_bytes())
    (pages / "other.md").write_text("# Other\n\n## Part\n", "utf-8")
    built = zensical(tmp_path)
    assert (built.returncode == 0) == well, built.stdout + built.stderr
