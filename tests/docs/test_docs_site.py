"""The built site: broken links fail, and nothing is loaded from elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from refused import refused

from bench.docs.built_site import check_site
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
    "markup",
    [
        "<script src=//cdn.example/katex.js></script>",
        '<link rel="stylesheet" href="https://fonts.example/css">',
        "<link href=https://fonts.example rel=preconnect>",
        '<iframe src="https://video.example"></iframe>',
        "<style>@import url(https://fonts.example/css);</style>",
    ],
)
def test_what_a_page_loads_from_elsewhere_is_an_error(tmp_path, markup):
    (tmp_path / "index.html").write_text(f"<html><head>{markup}</head></html>", "utf-8")
    refused(r"index\.html loads from elsewhere", check_site, tmp_path)


def test_links_and_pictures_of_its_own_are_well(tmp_path):
    (tmp_path / "own.svg").write_text("<svg/>", "utf-8")
    (tmp_path / "index.html").write_text(
        '<link rel="canonical" href="https://docs.example/"><link rel="stylesheet" href="a.css">'
        '<script src="a.js"></script><a href="https://arxiv.org/abs/1706.03762">paper</a>'
        '<img src="own.svg#only-dark"><img src="data:image/png;base64,AA==">',
        "utf-8",
    )
    check_site(tmp_path)


def test_a_picture_that_is_not_there_is_an_error(tmp_path):
    (tmp_path / "index.html").write_text('<img alt="x" src="none.svg">', "utf-8")
    refused(r"shows none\.svg, which is not there", check_site, tmp_path)


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
    if well:
        check_site(tmp_path / "build" / "docs" / "site")
