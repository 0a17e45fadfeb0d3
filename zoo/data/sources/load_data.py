"""From what a user gives as data, in words or in Python, to a data set.

Data that Python holds become files of the cache: a file travels to every executor, and is read as a
user's own is. Its directory is named after what the data were, how many rows they have, and their
content: ``DataFrame-1200-rows-1a2b3c4d``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from zoo.config.reading import Reading
from zoo.data.cache import entry
from zoo.data.sources.corpus import (
    SPLITS,
    TRAIN,
    VALIDATION,
    Corpus,
    DataSet,
    Examples,
    Pairs,
    Texts,
    is_blank,
    plain_name,
)
from zoo.data.sources.row_reader import LabelledTexts, RawData, RowReader
from zoo.data.sources.tables import data_suffix, read_text, refuse_twins
from zoo.errors import ZooError, listed, nearest, one_line
from zoo.registry import Choice, Registry
from zoo.registry.component import BUILT_IN, SHORT

if TYPE_CHECKING:
    import pandas as pd

DEFAULT, FALLBACK, DEFAULT_PAIRS = "bbc-news", "newswire", f"{SHORT}reverse"
HUB = "hub:"
TENTH = 10
ROWS = "a list of dicts, or a pair of lists (texts, labels)"
LABELLED_TEXTS = LabelledTexts()
D = TypeVar("D", bound=DataSet)


def load_corpus(
    registry: Registry, spec: str | None, reader: LabelledTexts = LABELLED_TEXTS
) -> tuple[Corpus, list[str]]:
    """The corpus a user asked for, and notices of one line each to print.

    spec: as of ``load_data``; or None for bbc-news, or newswire where it cannot be loaded from the
    Hub. Raises as ``load_data`` does.
    """
    from zoo.data.sources.hub import HubError

    try:
        return load_data(registry, f"{SHORT}{DEFAULT}" if spec is None else spec, reader)
    except HubError as error:
        if spec is not None:
            raise
        notice = (
            f"{DEFAULT} cannot be loaded ({error.reason}): running on the built-in data set "
            f"{FALLBACK} instead; accuracies do not compare with those on {DEFAULT}"
        )
        return build_registered(registry.choose("data", FALLBACK), Corpus), [notice]


def load_data(registry: Registry, spec: str, reader: RowReader) -> tuple[Any, list[str]]:
    """The data a user asked for, of the class ``reader.kind``, and notices to print.

    spec: a registered name, with or without parameters; a file or directory; ``hub:owner/name`` or
    ``hub:owner/name@revision``. reader: of a file or Hub data.
    Raises ZooError where the data cannot be loaded or do not fit.
    """
    if choice := find_registered(registry, spec):
        if flags := reader.flags(type(reader)):
            raise ZooError(f"{listed(flags)}: for files and hub: data, and '{spec}' is neither")
        return build_registered(choice, reader.kind), []
    return reader.data_set(read_raw(registry, spec, reader))


def read_raw(registry: Registry, spec: str, reader: RowReader) -> RawData:
    """The data of a spec that is no registered name; raises as ``load_data`` does."""
    spec = spec.strip()
    path, is_of_hub = Path(spec).expanduser(), spec.startswith(HUB)
    if not is_of_hub and not (spec and path.exists()):
        raise no_such_data(registry, spec, pairs=reader.kind is Pairs)
    name = spec if is_of_hub else path.resolve().name
    called = f"'{spec}'" if is_of_hub else plain_name(name)
    of_files = [flag for flag in reader.flags(Reading) if flag != "--drop-bad-rows"]
    if called != name and of_files:
        raise ZooError(f"{listed(of_files)}: for files, and {called} is none")
    if is_of_hub:
        from zoo.data.sources import hub

        return hub.read_tables(spec.removeprefix(HUB), getattr(reader, "label_column", ""))
    known = [c.full_name for c in registry.components("data") if c.name == spec]
    shown = [full.replace(f"{BUILT_IN}:", SHORT) for full in known[:1]]
    notices = [f"'{spec}' is a path here; the data set is {full}" for full in shown]
    return RawData(name, reader.tables(path), notices=notices)


def load_texts(
    registry: Registry, spec: str, reader: LabelledTexts = LABELLED_TEXTS
) -> tuple[Texts, list[str]]:
    """The texts for a language model that a user asked for, and notices to print.

    spec: a file that ends in .txt, compressed or not, or whatever ``load_corpus`` takes. reader: of
    tables. The validation part is fixed by a rule and not by a seed. Of a file it is as in
    ``read_plain_text``. Of a data set it is its validation split or else every tenth training text
    (the 10th, the 20th and so on), because many data sets are sorted by class; the test split is
    never read. Raises ZooError where they cannot be loaded, or are too few to divide.
    """
    path = Path(spec.strip()).expanduser()
    if data_suffix(path) == ".txt" and reader.file_format == "auto":
        if flags := [flag for flag in reader.flags(type(reader)) if flag != "--encoding"]:
            raise ZooError(f"{listed(flags)}: for tables, and '{spec}' is text")
        return read_plain_text(path, reader.encoding), []
    choice = find_registered(registry, spec)
    if choice is not None and choice.can("text"):
        return build_registered(choice, Texts), []
    corpus, notices = load_corpus(registry, spec, reader)
    train = corpus.train.texts
    if VALIDATION in corpus.splits:
        validation, how = corpus.splits[VALIDATION].texts, "the validation split"
    else:
        validation, how = train[TENTH - 1 :: TENTH], "every tenth training text"
        train = [text for number, text in enumerate(train, start=1) if number % TENTH]
    if not validation:
        raise ZooError(f"{corpus.called}: {len(train)} training texts; at least {TENTH} are needed")
    splits = {TRAIN: Examples(train), VALIDATION: Examples(validation)}
    return Texts(corpus.name, splits, notes={**corpus.notes, "held out": how}), notices


def read_plain_text(path: Path, encoding: str = "") -> Texts:
    """One file of plain text, divided; ZooError where it cannot be read or is empty.

    The validation part is the last tenth, from the next line on, so that it comes after all the
    training text.
    """
    text = read_text(path, encoding)
    if is_blank(text):
        raise ZooError(f"{path} is empty: there is no text to train on")
    cut = len(text) - max(1, len(text) // TENTH)
    line_end = text.find("\n", cut)
    if 0 <= line_end < len(text) - 1:
        cut = line_end + 1
    splits = {TRAIN: Examples([text[:cut]]), VALIDATION: Examples([text[cut:]])}
    return Texts(path.name, splits, notes={"held out": "the last tenth of the file"})


def find_registered(registry: Registry, spec: str | None) -> Choice | None:
    """The registered data that a spec names; None for a path, Hub data or None.

    What exists as a path is the path. Raises ZooError where the parameters of a name are wrong.
    """
    if spec is None or (spec.strip() and Path(spec.strip()).expanduser().exists()):
        return None
    bare = spec.partition("(")[0].strip()
    known = (name for c in registry.components("data") for name in (c.name, c.full_name))
    is_known = bare.startswith(SHORT) or bare in known
    return registry.choose("data", spec) if is_known else None


def build_registered(choice: Choice, kind: type[D]) -> D:
    """The data of a component; given parameters are part of its name.

    Raises ZooError where they cannot be loaded or are not of this class.
    """
    what = f"data '{choice}' of {choice.component.owner}"
    try:
        data = choice.build()
    except ZooError:
        raise
    except Exception as error:
        raise ZooError(f"{what} cannot be loaded: {one_line(error)}") from error
    if not isinstance(data, kind):
        raise ZooError(f"{what} gives no {kind.__name__} but a {type(data).__name__}")
    return dataclasses.replace(data, name=str(choice)) if choice.parameters else data


def no_such_data(registry: Registry, spec: str, *, pairs: bool = False) -> ZooError:
    """The error for a spec that is no data, or no pairs, and the nearest name."""
    data = registry.components("data")
    hint = nearest(spec, [registry.label(c) for c in data if not pairs or c.can("pairs")])
    lines = "a TSV file, SOURCE<TAB>TARGET in every line" if pairs else f"{HUB}owner/name"
    return ZooError(f"no data '{spec}', and no such file or directory{hint}; or a path, or {lines}")


def stored(data: Any, options: Mapping[str, Any]) -> Any:
    """What ``--data`` takes in place of data that Python holds; anything else as it is.

    data: a DataFrame, or what has ``to_pandas`` (of polars, a ``datasets.Dataset``, a
    ``pyarrow.Table``); a list of dicts; a pair of lists ``(texts, labels)``; or a mapping of these
    by split, such as a DatasetDict. A list of data sets may hold them too. options: of the task,
    among them the names of columns. Raises ZooError for data of another form.
    """
    if data is None or isinstance(data, str | Path):
        return data
    if isinstance(data, Mapping) and isinstance(data.get("name"), str):
        return data  # a table of a suite
    if isinstance(data, list) and not all(map(_is_row, data)):
        if row := next((e for e in data if isinstance(e, list) and not all(map(_is_row, e))), None):
            raise ZooError(f"data has the row {row!r:.40}: rows must be {ROWS}")
        return [stored(each, options) for each in data]
    parts = dict(data) if isinstance(data, Mapping) else {TRAIN: data}
    if TRAIN not in parts or not set(parts) <= {*SPLITS, "unsupervised"}:
        raise ZooError(
            f"data has the splits {', '.join(map(str, parts)):.60}: there must be train, and there "
            f"may be test and validation; without splits, rows must be {ROWS}"
        )
    frames = {split: _frame(parts[split], options) for split in SPLITS if split in parts}
    texts = {split: _json(frame) for split, frame in frames.items()}
    kind = type(parts[TRAIN] if type(data) is dict else data).__name__
    kind = "list" if kind == "tuple" else kind
    digest = hashlib.sha256("\n".join([*texts, *texts.values()]).encode()).hexdigest()[:8]

    def build(directory: Path) -> dict[str, str]:
        for split, text in texts.items():
            (directory / f"{split}.json").write_text(text, encoding="utf-8")
        return {"kind": "data given in Python"}

    return str(entry(f"{kind}-{sum(map(len, frames.values()))}-rows-{digest}", build))


def _is_row(each: Any) -> bool:
    """Whether an item of a list is a row, and no data set."""
    return isinstance(each, Mapping) and not {"name", TRAIN} & each.keys()


def _paired(pair: tuple[Any, ...], options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a pair of lists (texts, labels), or (tokens, tags)."""
    if len(pair) != 2 or not all(map(_is_column, pair)):
        raise ZooError(f"data has {pair!r:.40}: rows must be {ROWS}")
    texts, labels = map(list, pair)
    if len(texts) != len(labels):
        raise ZooError(f"data has {len(texts)} texts but {len(labels)} labels")
    tagged = bool(texts) and not isinstance(texts[0], str) and hasattr(texts[0], "__len__")
    names = ("tokens_column", "tags_column") if tagged else ("text_column", "label_column")
    columns = [str(options.get(name) or name.removesuffix("_column")) for name in names]
    return [dict(zip(columns, row, strict=True)) for row in zip(texts, labels, strict=True)]


def _is_column(values: Any) -> bool:
    """Whether it is a list of texts or of labels."""
    is_frame = hasattr(values, "columns") or hasattr(values, "column_names")
    return hasattr(values, "__len__") and not is_frame and not isinstance(values, str | Mapping)


def _frame(data: Any, options: Mapping[str, Any]) -> pd.DataFrame:
    """The rows of a frame, a data set or a list; columns are named by text."""
    import pandas as pd

    if isinstance(data, list | tuple):
        rows = _paired(data, options) if isinstance(data, tuple) else data
        return pd.DataFrame(rows, dtype=object).rename(columns=str)
    if hasattr(data, "column_names") and hasattr(data, "features"):
        from zoo.data.sources.hub import named_rows

        rows = named_rows(data, str(options.get("label_column") or "label"))
        return pd.DataFrame(rows, columns=None if rows else data.column_names, dtype=object)
    if hasattr(data, "to_pandas"):
        data = data.to_pandas()
    if not isinstance(data, pd.DataFrame):
        raise ZooError(
            f"data is a {type(data).__name__}: give a name, a path, a DataFrame, a datasets."
            f"Dataset, a pyarrow.Table, a dict of splits, or rows, which are {ROWS}"
        )
    return data.rename(columns=str)


def _json(frame: pd.DataFrame) -> str:
    """A frame as a JSON array of its rows; missing values are null."""
    refuse_twins("data", list(frame.columns))
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    try:
        return json.dumps(rows, default=_plain_value)
    except (ValueError, RecursionError) as error:  # of values that hold themselves
        raise ZooError(f"data cannot be stored: {one_line(error)}") from error


def _plain_value(value: Any) -> Any:
    """An array as a list, and any other value that JSON lacks as text; ZooError for bytes."""
    if isinstance(value, bytes):
        raise ZooError(f"data holds bytes, {value[:20]!r}: decode them to text")
    return value.tolist() if hasattr(value, "tolist") else str(value)
