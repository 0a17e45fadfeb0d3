"""Files that are written whole or not at all, and what is said where they cannot be written."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from zoo.errors import WriteError, ZooError

FULL = errno.ENOSPC, errno.EDQUOT


def system_error(error: BaseException) -> int:
    """The number of the system's error; 0 where it is none. Libraries in Rust have it in words."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    if re.fullmatch(r"\d+ requested and \d+ written", str(error)):  # NumPy's, without a number
        return errno.ENOSPC
    found = re.search(r"\(os error (\d+)\)", str(error))
    return int(found[1]) if found else 0


def full_disk(error: BaseException) -> WriteError | None:
    """What is said of an error that a full disk is the reason of; None of any other."""
    if system_error(error) not in FULL:
        return None
    name = getattr(error, "filename", None)
    return write_error(Path(name) if name else None, error)


def write_error(path: Path | None, error: BaseException, size: int = 0) -> WriteError:
    """What is said of a file or directory that cannot be written; path: None where unknown.

    size: bytes that it takes, as far as known.
    """
    number = system_error(error)
    reason = os.strerror(number) if number else str(error)
    if number in FULL and path is not None:
        place = next(each for each in path.absolute().parents if each.exists())
        takes = f"it takes {_in_words(size)}, and " if size else ""
        reason += f"; {takes}{_in_words(shutil.disk_usage(place).free)} are free there"
    return WriteError(f"cannot write {path or 'a file'}: {reason}")


@contextlib.contextmanager
def writing(path: Path, size: int = 0) -> Iterator[None]:
    """Raise WriteError where the block cannot write the path; size: as of ``write_error``."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ZooError) or not system_error(error):
            raise
        raise write_error(path, error, size) from error


@contextlib.contextmanager
def replacing(file: Path, size: int = 0) -> Iterator[Path]:
    """A file beside that one, which takes its place when the block ends without error.

    So never does a reader find a part of it, and what was there stays where the disk is full.
    Raises WriteError; size: as of ``write_error``.
    """
    temporary = file.with_name(f".{file.name}.tmp")
    with writing(file, size):
        try:
            yield temporary
            os.replace(temporary, file)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


def _in_words(size: int) -> str:
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.1f} KiB"
