"""The splits of data: which files of a directory they are, and how data without them are divided.

A directory holds a file for each split, told by its name, or a folder of text files for every
class, as 20 Newsgroups and the IMDb reviews come. These are in one directory, or in one for each
split: ``train/sport/one.txt``. A directory whose name ends in that of a split, as
``20news-bydate-train`` does, is that split's.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, cast

from zoo.config.reading import TextReading
from zoo.data.sources.corpus import TEST, TRAIN, VALIDATION
from zoo.data.sources.diagnostics.drawing import Draw
from zoo.data.sources.tables import Placed
from zoo.data.sources.text_file import DataFile, data_stem, data_suffix, decoded, read_bytes
from zoo.errors import DataError, ZooError

# What files, folders and splits are called.
NAMES = {TRAIN: (TRAIN,), TEST: (TEST,), VALIDATION: (VALIDATION, "valid", "val", "dev")}
TEST_SHARE = 0.25
SHOWN = 12  # classes that an error names


class ScoringNotice(str):
    """A notice of what is held out to be scored: not for a training on all the data."""


class Advice(ScoringNotice):
    """A notice of something odd in the data; with these options it is mended."""

    options: Mapping[str, Any]

    def __new__(cls, text: str, options: Mapping[str, Any] = {}) -> Self:
        made = super().__new__(cls, text)
        made.options = options
        return made


class DivisionError(DataError):
    """Data without a test split are too few to be divided."""


def files_of_splits(
    root: DataFile, formats: Sequence[str], reading: TextReading, *, folders: bool = False
) -> dict[str, list[DataFile]]:
    """The files of each split of a directory; a file alone is for training.

    A split may be in shards, ``train-00000-of-00002``. Files of these formats count; of others,
    such as ``train.txt``, only where no split is in one of these. With folders, where there is no
    file for training, the directory that holds the folders of the classes stands for its files.
    Raises ZooError where nothing is for training, and where a split is in two files that are not
    shards, or in two directories.
    """
    if not root.is_dir():
        return {TRAIN: [root]}
    files = _visible(root, folders=False)
    splits = _named([file for file in files if data_suffix(file) in formats])
    if TRAIN not in splits:
        splits = _named(files)
    for found in splits.values() if TRAIN in splits else ():
        if len({data_suffix(f) for f in found}) > 1 or len(found) > len(set(map(data_stem, found))):
            names = ", ".join(f.name for f in found)
            raise ZooError(f"{root} has two files for one split: {names}")
    if TRAIN not in splits and folders:
        splits = _class_folders(root)
    if TRAIN not in splits:
        there = ", ".join(file.name for file in files[:8]) or "no data file"
        no_folder = " and no folder for every class" * folders
        known = ", train".join(formats)
        raise ZooError(f"{root} has no train file (train{known}){no_folder}; there is: {there}")
    for file in itertools.chain.from_iterable(splits.values()):
        _refuse_link(file, root, reading)
    return splits


def _named(files: Sequence[DataFile]) -> dict[str, list[DataFile]]:
    """The files whose name is that of a split, by split."""
    splits: dict[str, list[DataFile]] = {}
    for split, names in NAMES.items():
        for name in names:
            pattern = re.compile(rf"{name}(-\d+-of-\d+)?")
            if found := [file for file in files if pattern.fullmatch(data_stem(file))]:
                splits.setdefault(split, found)
    return splits


def _class_folders(directory: DataFile) -> dict[str, list[DataFile]]:
    """The directory that holds the folders of the classes, for each split."""
    splits: dict[str, list[DataFile]] = {}
    for split, names in NAMES.items():
        pattern = re.compile(rf"(.*[-_. ])?({'|'.join(names)})", re.IGNORECASE)
        folders = _visible(directory, folders=True)
        if found := [f for f in folders if pattern.fullmatch(f.name) and _classes(f)]:
            splits[split] = found
        if len(found) > 1:
            both = " and ".join(f.name for f in found)
            raise ZooError(f"{directory} has two directories for the {split} split: {both}")
    if TRAIN in splits:
        return splits
    return {TRAIN: [directory]} if len(_classes(directory)) > 1 else {}


def read_folder(
    directory: DataFile, reading: TextReading, notices: list[str], *, classes: bool = False
) -> Iterator[Placed]:
    """A row with ``text`` for every file of a directory and of the folders in it, after its path.

    classes: for every file in the folders of the classes, and with ``label``. reading, notices: as
    in ``read_text``. Raises ZooError for a file that cannot be read, and for a link that leads out
    of the directory if it is not to be followed.
    """
    files = list(_all_files(directory, directory, reading))
    if classes:
        files = [(place, file) for place, file in files if place.count("/") == 1]
    contents = [(file, read_bytes(file, reading)) for _, file in files]
    texts = decoded(contents, reading.encoding, notices)
    for (place, _), text in zip(files, texts, strict=True):
        yield place, {"text": text, "label": place.partition("/")[0]}


def _all_files(
    directory: DataFile, root: DataFile, reading: TextReading, above: str = ""
) -> Iterator[tuple[str, DataFile]]:
    """Every file after its path, those of a directory before those of the folders in it."""
    for file in _visible(directory, folders=False):
        _refuse_link(file, root, reading)
        yield f"{above}{file.name}", file
    for folder in _visible(directory, folders=True):
        _refuse_link(folder, root, reading)
        yield from _all_files(folder, root, reading, f"{above}{folder.name}/")


def _refuse_link(entry: DataFile, root: DataFile, reading: TextReading) -> None:
    """ZooError for a link that leads out of this directory, unless such links are followed.

    One to a directory that it is itself in would have no end, and is never followed.
    """
    if not isinstance(entry, Path) or not entry.is_symlink():
        return
    target = entry.resolve()
    what = f"{entry} is a link to {target}"
    if entry.parent.resolve().is_relative_to(target):
        raise ZooError(f"{what}, which it is in: remove the link")
    if not (reading.follow_links or target.is_relative_to(cast(Path, root).resolve())):
        raise ZooError(f"{what}, outside {root}; --follow-links reads what it points to")


def _classes(directory: DataFile) -> list[DataFile]:
    """The folders with a file in them."""
    return [f for f in _visible(directory, folders=True) if _visible(f, folders=False)]


def _visible(directory: DataFile, *, folders: bool) -> list[DataFile]:
    """The files or the folders of a directory by name, without hidden ones."""
    entries = [e for e in directory.iterdir() if not e.name.startswith((".", "__"))]
    fitting = [e for e in entries if (e.is_dir() if folders else e.is_file())]
    return sorted(fitting, key=lambda entry: entry.name)


def stratified(
    labels: Sequence[Hashable], seed: int, *, share: float = TEST_SHARE
) -> tuple[list[int], list[int]]:
    """Indices of train and test, each in ascending order.

    This share of every class, at least one document and not all, is for test; the same labels,
    seed and share give the same split on every machine. The only document of a class is for train.
    """
    indices_of: dict[Hashable, list[int]] = {}
    for index, label in enumerate(labels):
        indices_of.setdefault(label, []).append(index)
    # The usual stratified split leaves a small class out of test; here each is divided by itself.
    draw, test = Draw(seed), list[int]()
    for indices in indices_of.values():
        count = min(max(1, round(len(indices) * share)), len(indices) - 1)
        test += draw.sample(indices, count)
    in_test = set(test)
    return [i for i in range(len(labels)) if i not in in_test], sorted(test)
