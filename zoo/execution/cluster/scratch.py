"""Directories that belong to one process; the next process removes them where that was killed."""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import subprocess
import tempfile
from multiprocessing.util import get_temp_dir
from pathlib import Path

import psutil

# Ray puts sockets into a directory of the engine's, at PLACE/zooray-1234567-abcdefgh/ray/
# session_2026-01-01_00-00-00_000000_1234567/sockets/plasma_store, and the path of a socket may have
# 103 characters on macOS and 107 on Linux.
LONGEST = 11

SAME_START_SECONDS = 5.0  # a clock that was set moves the start of a process
MARKER = ".zoo-owner"  # the file that names the process of a scratch directory

SLOT = "zooslot-"  # how the names of the slots' directories begin

# A shell removes directories as soon as nothing can write to its standard input any more. The
# second attempt is for a process that still wrote during the first.
_REMOVE = 'exec 3<&0; (read _ <&3; rm -rf -- "$@" || { sleep 1; rm -rf -- "$@"; }) &'


def short_place() -> Path:
    """The directory for temporary files; /tmp where the path of that is too long for sockets."""
    place, other = Path(tempfile.gettempdir()), Path("/tmp")
    too_long = len(str(place)) > LONGEST
    return other if too_long and os.access(other, os.W_OK | os.X_OK) else place


def scratch_directory(prefix: str, place: Path) -> Path:
    """A new directory that no other user can read, with a marker that names this process."""
    made = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=place))
    owner = {"pid": os.getpid(), "started": psutil.Process().create_time(), "boot": _boot()}
    (made / MARKER).write_text(json.dumps(owner))
    return made


def remove_dead(prefix: str, place: Path) -> None:
    """Remove the scratch directories of processes of this boot that are gone.

    Whatever has no marker, or one of another boot or container, stays: nothing is known of it.
    """
    for directory in place.glob(f"{prefix}*"):
        try:
            owner = json.loads((directory / MARKER).read_text())
            gone = owner["boot"] == _boot() and not _alive(owner["pid"], owner["started"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if gone:
            shutil.rmtree(directory, ignore_errors=True)


def _alive(pid: int, started: float) -> bool:
    try:
        return abs(psutil.Process(pid).create_time() - started) < SAME_START_SECONDS
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _boot() -> str:
    """This boot of this machine, and the container in which process numbers mean something."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return f"{platform.node()} {psutil.boot_time():.0f}"


def remove_with_this_process(*directories: Path) -> None:
    """Have directories removed once this process has ended, also where it was killed.

    What removes them is no child of this process and is in a session of its own, since Ray kills
    the children of an actor with it.
    """
    read, write = os.pipe()  # no child inherits them; the second stays open as long as this process
    try:
        subprocess.run(
            ["sh", "-c", _REMOVE, "sh", *directories],
            stdin=read,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )
    except BaseException:
        os.close(write)
        raise
    finally:
        os.close(read)


@functools.cache
def slot_directory() -> Path:
    """A directory for the files of the slot that this process is; removed with it."""
    place = Path(tempfile.gettempdir())
    remove_dead(SLOT, place)  # whose power was cut
    made = scratch_directory(SLOT, place)
    remove_with_this_process(made, Path(get_temp_dir()))  # the second has multiprocessing's sockets
    return made
