"""Where results may be written, found out before any work is done."""

from __future__ import annotations

import tempfile
from pathlib import Path

from zoo.errors import ZooError


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
