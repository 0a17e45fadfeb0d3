"""A folder of text files for every class, as 20 Newsgroups and the IMDb reviews come.

The folders are in one directory, or in one for each split: ``train/sport/one.txt``. A directory
whose name ends in that of a split, as ``20news-bydate-train`` does, is that split's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from zoo.data.sources.data_file import DataFile, explained
from zoo.data.sources.split_files import NAMES, TRAIN
from zoo.data.sources.tables import Placed
from zoo.data.sources.text_encoding import UTF8, first_wrong_byte, guess_encoding, text_lines
from zoo.errors import ZooError


def class_folders(directory: DataFile) -> dict[str, DataFile]:
    """The directory that holds the folders of the classes, for each split; empty if there is none.

    Raises ZooError where two directories could be one split.
    """
    folders = _folders(directory)
    splits: dict[str, DataFile] = {}
    for split, names in NAMES.items():
        pattern = re.compile(rf"(.*[-_. ])?({'|'.join(names)})", re.IGNORECASE)
        found = [f for f in folders if pattern.fullmatch(f.name) and _classes(f)]
        if len(found) > 1:
            both = " and ".join(f.name for f in found)
            raise ZooError(f"{directory} has two directories for the {split} split: {both}")
        if found:
            splits[split] = found[0]
    if TRAIN in splits:
        return splits
    return {TRAIN: directory} if len(_classes(directory)) > 1 else {}


def read_class_folders(directory: DataFile, encoding: str, notices: list[str]) -> Iterator[Placed]:
    """A row with ``text`` and ``label`` for every file in the folders, after ``sport/one.txt``.

    encoding: of all files; "": UTF-8, and one guess for all that are not, which is a notice.
    Raises ZooError for a file that cannot be read.
    """
    files = [(folder.name, file) for folder in _classes(directory) for file in _files(folder)]
    for (label, file), text in zip(
        files, _texts([file for _, file in files], encoding, notices), strict=True
    ):
        yield f"{label}/{file.name}", {"text": text, "label": label}


def read_folder(directory: DataFile, encoding: str, notices: list[str]) -> Iterator[Placed]:
    """A row with ``text`` for every file of a directory and of the folders in it, at any depth.

    A row is after its file's path in the directory. The rest is as in ``read_class_folders``.
    """
    files = list(_all_files(directory))
    for (place, _), text in zip(
        files, _texts([file for _, file in files], encoding, notices), strict=True
    ):
        yield place, {"text": text}


def _texts(files: Sequence[DataFile], encoding: str, notices: list[str]) -> Iterator[str]:
    """The text of each file."""
    odd: list[DataFile] = []
    for file in files if not encoding else ():
        with explained(file):
            if first_wrong_byte(file, UTF8):
                odd.append(file)
    guessed = _guess(odd, notices) if odd else ""
    not_utf8 = set(map(str, odd))
    for file in files:
        its_own = guessed if str(file) in not_utf8 else encoding or UTF8
        yield "".join(text_lines(str(file), file, its_own))


def _guess(odd: Sequence[DataFile], notices: list[str]) -> str:
    """The encoding to read files with that are not UTF-8."""
    guessed = guess_encoding(odd)
    count = f"{len(odd)} files are" if len(odd) > 1 else "1 file is"
    if not guessed:
        raise ZooError(f"{count} not UTF-8, such as {odd[0]}: name their --encoding")
    notices.append(
        f"{count} not UTF-8, such as {odd[0]}: read as {guessed}, which is a guess; "
        "--encoding NAME reads all files otherwise"
    )
    return guessed


def _classes(directory: DataFile) -> list[DataFile]:
    """The folders with a file in them."""
    return [folder for folder in _folders(directory) if _files(folder)]


def _folders(directory: DataFile) -> list[DataFile]:
    return [entry for entry in _visible(directory) if entry.is_dir()]


def _files(directory: DataFile) -> list[DataFile]:
    return [entry for entry in _visible(directory) if entry.is_file()]


def _all_files(directory: DataFile, above: str = "") -> Iterator[tuple[str, DataFile]]:
    """Every file after its path, those of a directory before those of the folders in it."""
    for file in _files(directory):
        yield f"{above}{file.name}", file
    for folder in _folders(directory):
        yield from _all_files(folder, f"{above}{folder.name}/")


def _visible(directory: DataFile) -> list[DataFile]:
    entries = [entry for entry in directory.iterdir() if not entry.name.startswith((".", "__"))]
    return sorted(entries, key=lambda entry: entry.name)
