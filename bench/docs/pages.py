"""The pages that are written by hand: copied, with their links and their made parts put in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from bench.docs.place import ROOT
from zoo.errors import ZooError

# A place in the repository to its place on the site; the longest that fits counts.
PLACES = {
    "docs": "",
    "README.md": "index.md",
    ".": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "plugins/README.md": "your-part.md",
    **{
        f"plugins/{file.parent.name}{end}": f"plug-ins/{file.parent.name}.md"
        for file in sorted((ROOT / "plugins").glob("*/README.md"))
        for end in ("", "/README.md")
    },
    "results": "results",
    "bench/suites": "bench/suites",
}
# The line below it is for whoever reads the page in the repository.
MADE = re.compile(r"^<!-- made: (.+?) -->(?:\n\(.+\))?$", re.MULTILINE)
_LINK = re.compile(r"(?<!`)\]\(([^)#\s]+)([^)\s]*)\)")
_OUTSIDE = re.compile(r"[a-z]+:")


def place_of(path: str) -> str:
    """Where a file or folder of the repository is on the site; ZooError where it is not on it."""
    for known in sorted(PLACES, key=len, reverse=True):
        if path == known:
            return PLACES[known]
        if path.startswith(f"{known}/") and not known.endswith(".md"):
            rest = path[len(known) + 1 :]
            return f"{PLACES[known]}/{rest}" if PLACES[known] else rest
    raise ZooError(f"{path} is not on the site: name it in code, or give it a place in {__name__}")


def page(source: Path, made: Mapping[str, Callable[[], str]] | None = None) -> str:
    """The text of a page of the repository as the site has it.

    made: the name in ``<!-- made: NAME -->`` to what is put in its place. Raises ZooError where a
    link or a name leads nowhere.
    """
    own = source.relative_to(ROOT).as_posix()
    here = PurePosixPath(place_of(own)).parent

    def moved(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2]
        if _OUTSIDE.match(target):
            return match[0]
        # Pages that are made have a place on the site alone: links to them stay as they are.
        path = normpath((PurePosixPath(own).parent / target).as_posix())
        if path.startswith("docs/") and not (ROOT / path).exists():
            return match[0]
        if not (ROOT / path).exists():
            raise ZooError(f"{own}: broken link to {target}")
        try:
            return f"]({relpath(place_of(path.rstrip('/')), here.as_posix() or '.')}{anchor})"
        except ZooError as error:
            raise ZooError(f"{own}: {error}") from None

    def put_in(match: re.Match[str]) -> str:
        if match[1] not in (made or {}):
            raise ZooError(f"{own}: nothing makes '{match[1]}'")
        return (made or {})[match[1]]()

    text = source.read_text("utf-8")
    lines = re.split(r"(^(?:```.*?^```|    .*?)$)", text, flags=re.MULTILINE | re.DOTALL)
    outside = [part if number % 2 else _LINK.sub(moved, part) for number, part in enumerate(lines)]
    return MADE.sub(put_in, "".join(outside))
