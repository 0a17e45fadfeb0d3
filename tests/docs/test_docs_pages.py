"""The hand-written pages of the site: their links, their made parts, and their commands."""

import itertools
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from refused import refused

from bench.docs import pages
from bench.docs.command_line import commands, options
from bench.docs.place import CONFIG, ROOT, SOURCES

HAND_WRITTEN = sorted(SOURCES.rglob("*.md"))
SHIPPED = [
    *HAND_WRITTEN,
    *(ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "plugins/README.md")),
    *sorted((ROOT / "plugins").glob("*/README.md")),
]


def in_navigation(entries: list[Any]) -> Iterator[str]:
    """Every page that the navigation names."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for target in entry.values():
                yield from in_navigation(target) if isinstance(target, list) else [target]


NAVIGATION = list(in_navigation(tomllib.loads(CONFIG.read_text("utf-8"))["project"]["nav"]))


def names(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SHIPPED, ids=names)
def test_every_page_has_a_place_and_its_links_lead_somewhere(path):
    made = dict.fromkeys(pages.MADE.findall(path.read_text("utf-8")), lambda: "")
    assert pages.page(path, made).startswith("# ")


def test_every_page_of_the_folder_is_in_the_navigation():
    own = {path.relative_to(SOURCES).as_posix() for path in HAND_WRITTEN}
    assert own - set(NAVIGATION) == set(), "each needs a line in zensical.toml"


def test_the_navigation_names_each_page_once():
    assert len(NAVIGATION) == len(set(NAVIGATION))


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Path:
    """A repository of its own, with two folders that are on the site."""
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    for name in ("docs/here.md", "docs/more/there.md", "plugins/README.md", "zoo/api.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# A page\n", "utf-8")
    return tmp_path


def moved(repository: Path, text: str, page: str = "docs/here.md") -> str:
    (repository / page).write_text(text, "utf-8")
    return pages.page(repository / page)


def test_a_link_is_that_of_the_page_on_the_site(repository):
    text = "[it](../plugins/README.md#contracts)"
    assert moved(repository, text) == "[it](your-part.md#contracts)"
    text = "[it](../../plugins/README.md)"
    assert moved(repository, text, "docs/more/there.md") == "[it](../your-part.md)"
    assert moved(repository, "[it](../docs/more/there.md)", "plugins/README.md") == (
        "[it](more/there.md)"
    )


def test_addresses_anchors_and_code_stay_as_they_are(repository):
    for text in (
        "[it](https://arxiv.org/abs/1706.03762)",
        "[it](#below)",
        "    [it](nowhere)",
        "```\n[it](nowhere)\n```",
        "`x](nowhere)`",
    ):
        assert moved(repository, text) == text


def test_a_broken_link_is_an_error_that_names_page_and_target(repository):
    says = r"docs/here.md: broken link to \.\./plugins/none.md"
    refused(says, moved, repository, "[it](../plugins/none.md)")


def test_a_link_to_what_is_not_on_the_site_is_an_error(repository):
    refused(r"zoo/api\.py is not on the site", moved, repository, "[it](../zoo/api.py)")


def test_a_made_part_is_put_in_and_an_unknown_one_is_an_error(repository):
    page = repository / "docs" / "here.md"
    page.write_text("# Here\n\n<!-- made: sum -->\n", "utf-8")
    assert pages.page(page, {"sum": lambda: "1 + 1"}) == "# Here\n\n1 + 1\n"
    refused("nothing makes 'sum'", pages.page, page, {"product": lambda: ""})


def zoo_commands() -> Iterator[tuple[str, str]]:
    """Page and text of every line of code that begins with ``zoo``."""
    for path in [*SHIPPED, ROOT / "README.md", ROOT / "AGENTS.md"]:
        text = path.read_text("utf-8").replace("\\\n", " ")
        for block in re.findall(r"^```(?:console)?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            text += "".join(f"\n    {line}" for line in block.splitlines())
        for line in re.findall(
            r"^ {4,}(?:.*&& )?(zoo [a-z].*?)(?: {2,}# .*)?$", text, re.MULTILINE
        ):
            # Neither running text that is indented, nor an error as it is printed.
            if "`" not in line and ": error: " not in line:
                yield names(path), line


@pytest.mark.parametrize(("page", "line"), sorted(set(zoo_commands())))
def test_commands_on_the_pages_have_these_options(page, line):
    words = shlex.split(line, comments=True)
    if words[1].startswith("-"):
        return
    assert words[1] in commands(), f"{page}: no command '{words[1]}'"
    known = {flag for p in options(words[1]) for flag in (*p.opts, *p.secondary_opts)}
    known |= {f"--set {n}" for p in options(words[1]) for n in getattr(p, "settings", ())}
    known |= {"--address"} if "ray" in words else set()  # of zoo-ray, which need not be installed
    given = {word.partition("=")[0] for word in words[2:] if re.match(r"--[a-z]", word)}
    settings = [value for word, value in itertools.pairwise(words) if word == "--set"]
    given |= {f"--set {name}" for value in settings for name in re.findall(r"([\w-]+)=", value)}
    assert given - known - {"--help"} == set(), f"{page}: {line}"


def test_options_in_running_text_are_options_of_some_command():
    known = {"--help", "--version", "--debug"}
    for name in commands():
        known |= {flag for p in options(name) for flag in (*p.opts, *p.secondary_opts)}
    others = {"--address", "--node-name", "--num-cpus", "--num-gpus", "--gpus-per-node"}
    others |= {"--include-dashboard", "--logdir"}
    for path in HAND_WRITTEN:
        found = set(re.findall(r"`[^`\n]*?(--[a-z][a-z0-9-]*)[^`\n]*`", path.read_text("utf-8")))
        assert found - known - others == set(), path.name
