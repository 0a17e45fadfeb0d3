"""The files of train, test and validation in a directory, told by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zoo.data.sources.data_file import DataFile, data_stem, data_suffix
from zoo.errors import ZooError

TRAIN, TEST, VALIDATION = "train", "test", "validation"
# What files, folders and splits are called.
NAMES = {
    TRAIN: (TRAIN,),
    TEST: (TEST,),
    VALIDATION: (VALIDATION, "valid", "val", "dev"),
}


def split_files(directory: DataFile, formats: Sequence[str]) -> dict[str, list[DataFile]]:
    """The files of each split that there is; empty where there is none for training.

    A split may be in shards, ``train-00000-of-00002``. Files of these formats count; of others,
    such as ``train.txt``, only where no split is in one of these. Raises ZooError where a split is
    in two files that are not shards.
    """
    files = sorted((f for f in directory.iterdir() if f.is_file()), key=lambda f: f.name)
    known = [file for file in files if data_suffix(file) in formats]
    splits = _named(known)
    if TRAIN not in splits:
        splits = _named(files)
    if TRAIN not in splits:
        return {}
    for found in splits.values():
        if len({data_suffix(f) for f in found}) > 1 or len(found) > len(set(map(data_stem, found))):
            names = ", ".join(f.name for f in found)
            raise ZooError(f"{directory} has two files for one split: {names}")
    return splits


def _named(files: Sequence[DataFile]) -> dict[str, list[DataFile]]:
    """The files whose name is that of a split, by split."""
    splits = {}
    for split, names in NAMES.items():
        for name in names:
            pattern = re.compile(rf"{name}(-\d+-of-\d+)?")
            found = [file for file in files if pattern.fullmatch(data_stem(file))]
            if found and split not in splits:
                splits[split] = found
    return splits
