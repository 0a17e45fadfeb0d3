"""Directories that belong to one process; the next process removes them where that was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import psutil

# Ray puts sockets into a directory of the engine's, at PLACE/zoo-1234567-abcdefgh/ray/
# session_2026-01-01_00-00-00_000000_1234567/sockets/plasma_store, and the path of a socket may have
# 103 characters on macOS and 107 on Linux.
LONGEST = 14


def short_place() -> Path:
    """The directory for temporary files; /tmp where the path of that is too long for sockets."""
    place, other = Path(tempfile.gettempdir()), Path("/tmp")
    too_long = len(str(place)) > LONGEST
    return other if too_long and os.access(other, os.W_OK | os.X_OK) else place


def scratch_directory(prefix: str, place: Path) -> Path:
    """A new directory that no other user can read, named after this process."""
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=place))


def remove_dead(prefix: str, place: Path) -> None:
    """Remove the scratch directories of processes that are gone."""
    for directory in place.glob(f"{prefix}*-*"):
        process = directory.name.removeprefix(prefix).partition("-")[0]
        if process.isdigit() and not psutil.pid_exists(int(process)):
            shutil.rmtree(directory, ignore_errors=True)
