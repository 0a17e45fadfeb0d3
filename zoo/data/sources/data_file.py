"""A file or directory of data: in the file system or within a ZIP archive, compressed or not."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast

from zoo.errors import ZooError, one_line

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ZIP = ".zip"
# What archives hold besides data.
_ASIDE = ("readme", "license", "licence", "__macosx", ".")

DataFile = Path | zipfile.Path


@contextlib.contextmanager
def explained(file: DataFile | str) -> Iterator[None]:
    """Turns what goes wrong while a file is read into a ZooError that names it."""
    try:
        yield
    except (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise ZooError(f"{file} cannot be unpacked: {one_line(error)}") from error
    except OSError as error:
        raise ZooError(f"{file} cannot be read: {error.strerror or error}") from error


def opened(file: DataFile) -> BinaryIO:
    """The bytes of a file, unpacked while they are read; raises as ``open`` does."""
    unpack = OPENERS.get(_suffix(file.name))
    raw = cast(BinaryIO, file.open("rb"))
    return cast(BinaryIO, unpack(raw)) if unpack else raw


def data_name(file: DataFile) -> str:
    """The name of a file without the ending that says how it is compressed."""
    suffix = _suffix(file.name)
    return file.name[: -len(suffix)] if suffix in OPENERS else file.name


def data_suffix(file: DataFile) -> str:
    """The ending that says what is in a file, in lower case: ``.csv`` of ``a.csv.gz``."""
    return _suffix(data_name(file))


def data_stem(file: DataFile) -> str:
    """The name without endings, in lower case: ``train`` of ``train.csv.gz``."""
    name = data_name(file)
    return name[: len(name) - len(_suffix(name))].lower()


def within(path: Path) -> DataFile:
    """What is to be read of a path: of a ZIP archive the only file or folder in it, or its root.

    Raises ZooError for an archive that cannot be read or has nothing in it, and for a tar archive.
    """
    if data_suffix(path) == ".tar" or _suffix(path.name) == ".tgz":
        raise ZooError(f"{path} is a tar archive: unpack it, and name what was in it")
    if path.is_dir() or _suffix(path.name) != ZIP:
        return path
    with explained(path):
        inside: zipfile.Path = zipfile.Path(path)
        while True:
            members = [m for m in inside.iterdir() if not m.name.lower().startswith(_ASIDE)]
            if not members:
                raise ZooError(f"{path} holds no data file")
            if len(members) > 1 or members[0].name.lower().startswith("train"):
                return members[0] if members[0].is_file() and len(members) == 1 else inside
            inside = members[0]
            if inside.is_file():
                return inside


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()
