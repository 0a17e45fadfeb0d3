"""Files and directories that are written whole or not at all, and what a kill leaves of them.

A directory that is not finished holds a file with its own name, which its process has locked. The
system frees the lock when the process ends. The next process that writes beside it can then take
the lock, and removes the directory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from zoo.errors import WriteError, ZooError

FULL = errno.ENOSPC, errno.EDQUOT
SCRATCH = "zoo-tmp-"  # the names of unfinished directories begin with it


def system_error(error: BaseException) -> int:
    """The number of the system's error; 0 where it is none. Libraries in Rust have it in words."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    if re.fullmatch(r"\d+ requested and \d+ written", str(error)):  # NumPy's, without a number
        return errno.ENOSPC
    number = re.search(r"\(os error (\d+)\)", str(error))
    return int(number[1]) if number else 0


def full_disk(error: BaseException) -> WriteError | None:
    """What is said of an error that a full disk is the reason of; None of any other."""
    if system_error(error) not in FULL:
        return None
    name = getattr(error, "filename", None)
    return write_error(Path(name) if name else None, error)


def write_error(path: Path | None, error: BaseException) -> WriteError:
    """What is said of a file or directory that cannot be written; path: None where unknown."""
    number = system_error(error)
    reason = os.strerror(number) if number else str(error)
    return WriteError(f"cannot write {path or 'a file'}: {reason}")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise WriteError where the block cannot write the path."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ZooError) or not system_error(error):
            raise
        raise write_error(path, error) from error


@contextlib.contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A file beside that one, which takes its place when the block ends without error.

    So never does a reader find a part of it, and what was there stays where the disk is full.
    Of two processes or threads that write it at once the last one wins. Raises WriteError.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    with writing(file):
        try:
            yield temporary
            os.replace(temporary, file)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


@contextlib.contextmanager
def scratch_directory(within: Path | None = None) -> Iterator[Path]:
    """A directory that is removed at the end; a killed process leaves it to the next one.

    within: by default the system's folder of temporary files. But for its lock it is empty.
    """
    within = within or Path(tempfile.gettempdir())
    _remove_left(within)
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=within))
    try:
        with locked(scratch / "lock"):
            with contextlib.suppress(FileNotFoundError):  # where there are no locks
                (scratch / "lock").rename(_lock(scratch))  # locked already when others see it
            yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def draft_directory(final: Path) -> Iterator[Path]:
    """An empty directory next to the final path, renamed to it when the block ends without error.

    Its files are flushed to disk first. If the block raises, the draft is removed. Raises OSError
    where it cannot be written, or final is not empty.
    """
    with scratch_directory(final.parent) as scratch:
        draft = scratch / "draft"  # without the lock, and with the usual permissions
        draft.mkdir()
        yield draft
        for file in draft.iterdir():
            _flush(file)
        os.replace(draft, final)
        _flush(final.parent)


def _remove_left(folder: Path) -> None:
    """Remove the scratch directories in a folder that killed processes left there."""
    from filelock import FileLock, Timeout

    for path in folder.glob(f"{SCRATCH}*"):
        if _lock(path).is_file():  # a copy under another name has none
            with contextlib.suppress(OSError, NotImplementedError, Timeout):
                with FileLock(_lock(path), blocking=False):
                    pass
                shutil.rmtree(path)


def _lock(directory: Path) -> Path:
    return directory / f"{directory.name}.lock"


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Wait until no other process has locked the file, which is made, and lock it.

    Some file systems have no locks: there the block runs without one.
    """
    from filelock import FileLock

    lock = FileLock(file)
    with contextlib.suppress(NotImplementedError):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _flush(path: Path) -> None:
    if os.name == "nt":  # where neither directories nor files that are read can be flushed
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
