"""Where results may be written, found out before any work is done, and how records name a path.

Records go to other people: they name no place of this machine.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from zoo.errors import ZooError

_FOLDERS = re.compile(r"(?<![\w.:/~…\\>])/(?:[\w.@+~-]+/)+")


def refuse_unwritable(place: Path, *, is_file: bool = False) -> None:
    """ZooError where no directory, or file, can be made or written there; nothing is left there."""
    kind, other = ("file", "directory") if is_file else ("directory", "file")
    if place.exists() and place.is_dir() == is_file:
        raise ZooError(f"cannot write to {place}: it is a {other}; name a {kind}")
    path = place.absolute()
    there = next(above for above in (path, *path.parents) if above.exists())
    try:
        tempfile.TemporaryFile(dir=path.parent if is_file else there).close()
    except OSError as error:
        raise ZooError(f"cannot write to {place}: {error.strerror}") from error


def portable(path: str) -> str:
    """An absolute path as a command has it that is repeated in this working directory.

    Relative to it or, of what is not within, to the home directory (``~/``) where it is there. So
    it names no user, and ``Path.expanduser`` leads there. Other texts are left as they are.
    """
    if not os.path.isabs(path) or not Path(path).name:
        return path
    for prefix, root in (("", Path.cwd()), ("~/", Path.home())):
        if Path(path).is_relative_to(root):
            return prefix + Path(path).relative_to(root).as_posix()
    return os.path.relpath(path)


def without_places(text: str) -> str:
    """A message or a traceback without places of this machine.

    A path is relative to where Python and its packages are, to the working directory or to the home
    directory; of any other the name alone is left.
    """
    code = sorted(filter(os.path.isabs, sys.path), key=len, reverse=True)
    for folder in (*code, os.getcwd()):
        text = text.replace(f"{folder}/", "")
    return _FOLDERS.sub("…/", text.replace(f"{Path.home()}/", "~/"))
