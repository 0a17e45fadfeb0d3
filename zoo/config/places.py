"""Where results may be written, found out before any work is done, and how records name a path.

Records go to other people: they name no place of this machine.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from zoo.errors import ZooError

_PLACE = r"(?:/|[A-Za-z]:[\\/])[\w.@+ ~-]+[\\/]"
_PATH = re.compile(
    rf"""(?<=["']){_PLACE}[^"'\n]*(?=["'])|(?<![\w.:/~…\\>])(?:/[\w.@+~-]+)+/[\w.@+~-]*"""
)


def refuse_unwritable(place: Path, *, is_file: bool = False) -> None:
    """ZooError where no directory, or file, can be made or written there; nothing is left there."""
    kind, other = ("file", "directory") if is_file else ("directory", "file")
    try:
        if place.exists() and place.is_dir() == is_file:
            raise ZooError(f"cannot write to {place}: it is a {other}; name a {kind}")
        if is_file and place.exists():
            place.open("ab").close()
            return
        if place.is_symlink() and not place.exists():
            raise ZooError(f"cannot write to {place}: it is a link to nothing")
        path = place.absolute()
        there = next(above for above in (path, *path.parents) if above.exists())
        if not there.is_dir() or (is_file and there != path.parent):
            raise ZooError(f"cannot write to {place}: {path.parent} is no directory")
        for name in path.relative_to(there).parts:
            (there / name).exists()  # raises for a name that is too long
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        raise ZooError(f"cannot write to {place}: {error.strerror}") from error


def portable(path: str) -> str:
    """An absolute path as a command has it that is repeated in this working directory.

    Relative to it or, of what is not within, to the home directory (``~/``) where it is there. So
    it names no user, and ``Path.expanduser`` leads there. Other texts are left as they are.
    """
    if not os.path.isabs(path) or not Path(path).name:
        return path
    return _within(path, [("", Path.cwd()), ("~/", Path.home())]) or os.path.relpath(path)


def without_places(text: str) -> str:
    """A message or a traceback without places of this machine.

    A path is relative to where Python and its packages are, to the working directory or to the home
    directory; of any other the name alone is left.
    """
    code = sorted(filter(os.path.isabs, sys.path), key=len, reverse=True)
    roots = [("", Path(folder)) for folder in [*code, os.getcwd()]] + [("~/", Path.home())]
    return _PATH.sub(lambda found: _within(found[0], roots) or f"…/{Path(found[0]).name}", text)


def _within(path: str, roots: Sequence[tuple[str, Path]]) -> str:
    """The path relative to the first of the folders that it is in, after its prefix; or empty.

    Folders that those of users are in do not count: their names are nobody's business.
    """
    for prefix, root in roots:
        named = root.name and root not in Path.home().parents
        if named and Path(path).is_relative_to(root):
            return prefix + Path(path).relative_to(root).as_posix()
    return ""
