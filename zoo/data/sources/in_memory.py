"""Data that Python holds: frames, data sets of Hugging Face and lists become files of the cache.

A file travels to every executor, and is read as a user's own is. Its directory is named after what
the data were, how many rows they have, and their content: ``DataFrame-1200-rows-1a2b3c4d``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from zoo.data.cache import cache_directory, entry
from zoo.data.sources.corpus import TEST, TRAIN, VALIDATION
from zoo.errors import ZooError

Row = dict[str, Any]


def stored(data: Any, options: Mapping[str, Any]) -> Any:
    """What ``--data`` takes in place of data that Python holds; anything else as it is.

    data: a pandas DataFrame, a ``datasets.Dataset``, a ``pyarrow.Table``, a pair of lists (texts,
    labels), or a mapping of these by split, such as a DatasetDict; a list of data sets may hold
    them too. options: of the task, among them the names of columns. Raises ZooError for data of
    another form.
    """
    if isinstance(data, list | tuple) and not data:
        raise ZooError("data is an empty list: name a data set, or leave it out for the task's own")
    if isinstance(data, list | tuple) and not _is_pair(data):
        return [stored(one, options) for one in data]
    if isinstance(data, Mapping) and isinstance(data.get("name"), str):
        return data  # a table of a suite
    if data is None or isinstance(data, str | Path):
        return data
    parts = dict(data) if isinstance(data, Mapping) else {TRAIN: data}
    splits = (TRAIN, TEST, VALIDATION)
    if TRAIN not in parts or not set(parts) <= {*splits, "unsupervised"}:
        raise ZooError(
            f"data has the splits {', '.join(map(str, parts))}: there must be train, and there may "
            "be test and validation"
        )
    files = {split: _lines(_rows(parts[split], options)) for split in splits if split in parts}
    kind = type(parts[TRAIN] if type(data) is dict else data).__name__
    kind = "lists" if kind in ("tuple", "list") else kind
    count = sum(len(lines) for lines in files.values())
    digest = hashlib.sha256(json.dumps(files).encode()).hexdigest()[:8]

    def build(directory: Path) -> dict[str, str]:
        for split, lines in files.items():
            text = "".join(f"{line}\n" for line in lines)
            (directory / f"{split}.jsonl").write_text(text, encoding="utf-8")
        return {"kind": "data given in Python"}

    return str(entry(f"{kind}-{count}-rows-{digest}", build))


def given_as(path: Path) -> str:
    """What the data of a path were in Python: ``the DataFrame``; empty for other paths."""
    found = re.fullmatch(r"(\w+)-\d+-rows-[0-9a-f]{8}", path.name)
    return f"the {found[1]}" if found and path.parent == cache_directory() else ""


def _is_pair(data: Any) -> bool:
    """Whether it is (texts, labels), and not a list of data sets."""
    if len(data) != 2 or any(isinstance(one, str | Path | Mapping) for one in data):
        return False
    if isinstance(data, list) and all(isinstance(o, tuple) and _is_pair(o) for o in data):
        return False  # two pairs
    frames = ("columns", "column_names")
    return all(hasattr(o, "__len__") and not any(hasattr(o, f) for f in frames) for o in data)


def _rows(data: Any, options: Mapping[str, Any]) -> list[Row]:
    """The rows of a frame, a data set or a pair of lists."""
    if isinstance(data, list | tuple) and _is_pair(data):
        texts, labels = map(list, data)
        if len(texts) != len(labels):
            raise ZooError(f"data has {len(texts)} texts but {len(labels)} labels")
        tagged = bool(texts) and not isinstance(texts[0], str) and hasattr(texts[0], "__len__")
        heads = ("tokens", "tags") if tagged else ("text", "label")
        columns = [str(options.get(f"{head}_column") or head) for head in heads]
        return [dict(zip(columns, row, strict=True)) for row in zip(texts, labels, strict=True)]
    if hasattr(data, "column_names") and hasattr(data, "features"):
        from zoo.data.sources.hub import name_classes

        of_data_set: list[Row] = data.to_list()
        label_column = str(options.get("label_column") or "label")
        name_classes(of_data_set, data.features, label_column)
        return of_data_set
    if hasattr(data, "column_names") and hasattr(data, "to_pylist"):
        rows: list[Row] = data.to_pylist()
        return rows
    if hasattr(data, "columns") and hasattr(data, "to_dict"):
        frame: list[Row] = data.rename(columns=str).to_dict("records")
        return frame
    raise ZooError(
        f"data is a {type(data).__name__}: give a name, a path, a DataFrame, a datasets.Dataset, a "
        "pyarrow.Table, a dict of splits, or a pair of lists (texts, labels)"
    )


def _lines(rows: Iterable[Row]) -> list[str]:
    """Each row as a line of JSON; values that are not JSON as text, missing ones as null."""
    return [json.dumps(_plain(row), ensure_ascii=False, default=str) for row in rows]


def _plain(value: Any) -> Any:
    """A value without numpy's types and without NaN, which JSON lacks."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, str | int | float | bool):
        return None if value != value else value
    if isinstance(value, bytes):
        raise ZooError(f"data holds bytes, {value[:20]!r}: decode them to text")
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return None if missing else str(value)
