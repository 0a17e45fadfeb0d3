"""From what a user writes after ``--data``, or names as texts to predict, to data."""

from __future__ import annotations

import dataclasses
import difflib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from zoo.config.reading import Reading, TextReading, given_flags
from zoo.data.sources.corpus import (
    TEST,
    TRAIN,
    VALIDATION,
    Corpus,
    DataSet,
    Examples,
    Pairs,
    Texts,
)
from zoo.data.sources.in_memory import given_as
from zoo.data.sources.row_reader import (
    READ_ALL,
    C,
    LabelledTexts,
    RowReader,
    column_names,
    joined_text,
    stratified,
)
from zoo.data.sources.tables import (
    FORMATS,
    Problems,
    data_suffix,
    decode,
    read_folder,
    read_table,
    read_text,
)
from zoo.errors import ZooError, listed, nearest, one_line
from zoo.registry import Choice, Registry

DEFAULT, FALLBACK, DEFAULT_PAIRS = "bbc-news", "newswire", "reverse"
HUB = "hub:"
PIPE = "-"  # stdin, given as a file
TEXT = "text"  # the column that is read by default
TENTH = 10
LABELLED_TEXTS = LabelledTexts()
D = TypeVar("D", bound=DataSet)


def load_corpus(
    registry: Registry, spec: str | None, reader: LabelledTexts = LABELLED_TEXTS
) -> tuple[Corpus, list[str]]:
    """The corpus a user asked for, and notices of one line each to print.

    spec: as of ``load_data``; or None for bbc-news, or newswire where it cannot be loaded from the
    Hub. Raises as ``load_data`` does.
    """
    if spec is not None:
        return load_data(registry, spec, reader, Corpus)
    from zoo.data.sources.hub import HubError

    _refuse_options(reader.given(), DEFAULT)
    try:
        return build_registered(registry.choose("data", DEFAULT), Corpus), []
    except HubError as error:
        notice = (
            f"{DEFAULT} cannot be loaded ({error.reason}): running on the built-in data set "
            f"{FALLBACK} instead; accuracies do not compare with those on {DEFAULT}"
        )
        return build_registered(registry.choose("data", FALLBACK), Corpus), [notice]


def load_data(
    registry: Registry, spec: str, reader: RowReader[C], kind: type[C]
) -> tuple[C, list[str]]:
    """The data a user asked for, of the class ``kind``, and notices of one line each to print.

    spec: a registered name, with or without parameters; a file or directory; ``hub:owner/name`` or
    ``hub:owner/name@revision``. reader: of a file or Hub data.
    Raises ZooError where the data cannot be loaded or do not fit.
    """
    spec = spec.strip()
    formats = given_flags(reader.reading)
    formats.pop("drop_bad_rows", None)
    if spec.startswith(HUB):
        from zoo.data.sources import hub

        if formats:
            raise ZooError(f"{listed(formats.values())}: for files, and '{spec}' is none")
        return hub.load(spec.removeprefix(HUB), reader)
    if choice := find_registered(registry, spec):
        _refuse_options(reader.given(), spec)
        return build_registered(choice, kind), []
    path = _existing(registry, spec)
    source = given_as(path)
    if source and formats:
        raise ZooError(f"{listed(formats.values())}: for files, and {source} is none")
    return reader.read(path, name=path.resolve().name, source=source)


def _refuse_options(flags: list[str], spec: str) -> None:
    """ZooError where an option of files was given for registered data."""
    if flags:
        raise ZooError(f"{listed(flags)}: for files and hub: data, and '{spec}' is neither")


def _existing(registry: Registry, spec: str, *, pairs: bool = False) -> Path:
    path = Path(spec).expanduser()
    if not spec or not path.exists():
        raise no_such_data(registry, spec, pairs=pairs)
    return path


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
    if data_suffix(path) == ".txt" and reader.reading.file_format == "auto":
        plain = Reading(encoding=reader.reading.encoding)
        if reader != LabelledTexts(reading=plain):
            raise ZooError(
                f"'{spec}' is text, which --text-column and other options of tables are not for"
            )
        return read_plain_text(path, plain), []
    choice = find_registered(registry, spec)
    if choice is not None and choice.can("text"):
        return build_registered(choice, Texts), []
    corpus, notices = load_corpus(registry, spec, reader)
    train, how = corpus.train.texts, "every tenth training text"
    if VALIDATION in corpus.splits:
        validation, how = corpus.splits[VALIDATION].texts, "the validation split"
    else:
        validation = train[TENTH - 1 :: TENTH]
        train = [text for number, text in enumerate(train, start=1) if number % TENTH]
    if not validation:
        raise ZooError(f"{corpus.name}: {len(train)} training texts; at least {TENTH} are needed")
    splits = {TRAIN: Examples(train), VALIDATION: Examples(validation)}
    return Texts(corpus.name, splits, notes={**corpus.notes, "held out": how}), notices


def read_plain_text(path: Path, reading: TextReading = READ_ALL) -> Texts:
    """One file of plain text, divided; ZooError where it cannot be read or is empty.

    The validation part is the last tenth, from the next line on, so that it comes after all the
    training text.
    """
    text = read_text(path, reading)
    if not text.strip():
        raise ZooError(f"{path} is empty: there is no text to train on")
    cut = len(text) - max(1, len(text) // TENTH)
    line_end = text.find("\n", cut)
    if 0 <= line_end < len(text) - 1:
        cut = line_end + 1
    splits = {TRAIN: Examples([text[:cut]]), VALIDATION: Examples([text[cut:]])}
    return Texts(path.name, splits, notes={"held out": "the last tenth of the file"})


def load_pairs(
    spec: str, registry: Registry, reading: TextReading = READ_ALL
) -> tuple[Pairs, list[str]]:
    """The pairs of registered data, or of a TSV file, and notices to print.

    A line of a file is a source, a tab and a target. A quarter of the sources are for test; all
    pairs of one source are in the same split. Raises ZooError where they cannot be loaded, naming
    the lines that are no pair.
    """
    spec = spec.strip()
    if choice := find_registered(registry, spec):
        if flags := given_flags(reading):
            raise ZooError(f"{listed(flags.values())}: for files, and '{spec}' is none")
        return build_registered(choice, Pairs), []
    path = _existing(registry, spec, pairs=True)
    problems = Problems(drop_bad_rows=reading.drop_bad_rows)
    bad: dict[str, str] = {}
    targets: dict[str, list[str]] = {}
    lines = _lines(read_text(path, reading))
    for number, line in enumerate(lines, start=1):
        source, *rest = [side.strip() for side in line.split("\t")]
        if len(rest) != 1:
            bad[f"line {number}"] = f"{len(rest)} tabs, where SOURCE<TAB>TARGET has one"
        elif not (source and rest[0]):
            bad[f"line {number}"] = f"the {'target' if source else 'source'} is empty"
        else:
            targets.setdefault(source, []).append(rest[0])
    problems.bad_rows(str(path), bad, len(lines))
    problems.refuse()
    if len(targets) < 2:
        raise ZooError(f"{path} has {len(targets)} different sources; a test split needs two")
    sources = list(targets)
    train, test = stratified([""] * len(sources), seed=0)
    notes = {"split": f"by source, seed 0, {len(test)} of {len(sources)} for test"}
    if problems.notices:
        notes["reading"] = "; ".join(problems.notices).replace(str(path), path.name)
    splits = {}
    for split, rows in ((TRAIN, train), (TEST, test)):
        pairs = [(sources[row], target) for row in rows for target in targets[sources[row]]]
        splits[split] = Examples([source for source, _ in pairs], [target for _, target in pairs])
    return Pairs(path.name, splits, notes=notes), problems.notices


def read_texts(
    source: str,
    column: str = TEXT,
    what: str = "text",
    reading: Reading = READ_ALL,
    notices: list[str] | None = None,
) -> Iterator[str]:
    """The texts of a file, or of stdin for ``-``, to predict or to continue.

    Of a table, told by its ending or because ``reading`` says so, a column or several; of any
    other file every line, of stdin as it is asked for; of a directory every file. what: how an
    error names a text. notices: what a user should know is added to it, at the latest after the
    last text. Raises ZooError, naming the line or row, for an empty text, whatever cannot be read
    and an option without effect, and at the end of a file that contains none.
    """
    file = None if source == PIPE else Path(source).expanduser()
    name = "stdin" if file is None else str(file)
    of_tables = list(given_flags(reading, besides=TextReading).values())
    is_folder = file is not None and file.is_dir()
    is_table = bool(file and not is_folder and (of_tables or data_suffix(file) in FORMATS))
    if not is_table and (flags := [*of_tables, *(["--text-column"] if column != TEXT else [])]):
        held = "every file is a text" if is_folder else "every line is a text"
        raise ZooError(f"{listed(flags)}: for tables, and of {name} {held}")
    problems = Problems(drop_bad_rows=reading.drop_bad_rows)
    empty = True
    for text in (
        _column_texts(file, column, reading, problems, is_folder=is_folder)
        if file and (is_table or is_folder)
        else _line_texts(file, reading, problems)
    ):
        empty = False
        yield text
    if notices is not None:
        notices += problems.notices
    if empty:
        raise ZooError(f"{name} contains no {what}")


def _column_texts(
    file: Path, column: str, reading: Reading, problems: Problems, *, is_folder: bool
) -> list[str]:
    """The texts of a table, or of a folder; all are read first, and all that is wrong is said."""
    table = read_folder(file, reading, "**/*") if is_folder else read_table(file, reading)
    columns, bad, texts = column_names(column), dict(table.bad), list[str]()
    there = [str(name) for name in table.frame.columns]
    if missing := [name for name in columns if name not in there and len(table.frame)]:
        raise ZooError(
            f"{file} has no column '{missing[0]}' (--text-column){nearest(missing[0], there)}"
        )
    for place, values in zip(table.frame.index, table.frame.to_dict("records"), strict=True):
        try:
            texts.append(joined_text(cast(Any, values), columns))
        except ZooError as error:
            bad[place] = str(error)
    problems.bad_rows(str(file), bad, len(table.frame) + len(table.bad))
    problems.refuse()
    return texts


def _line_texts(file: Path | None, reading: Reading, problems: Problems) -> Iterator[str]:
    """The lines of a file or of stdin; of stdin each is read when it is asked for.

    An empty line is left out, or an error where it stands.
    """
    name = "stdin" if file is None else str(file)
    bad, number = dict[str, str](), 0
    lines = _stdin_lines(reading) if file is None else _lines(read_text(file, reading))
    for number, line in enumerate(lines, start=1):
        text = line.removesuffix("\n").removesuffix("\r")
        if text.strip():
            yield text
        elif reading.drop_bad_rows:
            bad[f"line {number}"] = "empty"
        else:
            raise ZooError(f"{name}, line {number} is empty: every line must hold a text")
    problems.bad_rows(name, bad, number)


def _stdin_lines(reading: TextReading) -> Iterator[str]:
    """Each line of stdin as text; all at once where a newline is more than one byte."""
    stream: BinaryIO = sys.stdin.buffer
    if "\n".encode(reading.encoding or "utf-8") != b"\n":
        yield from _lines(decode("stdin", stream.read(), reading.encoding))
        return
    for number, line in enumerate(stream, start=1):
        yield decode("stdin", line, reading.encoding, number)


def _lines(text: str) -> list[str]:
    """The lines of a text; after the last newline there is none."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def find_registered(registry: Registry, spec: str | None) -> Choice | None:
    """The registered data that a spec names; None for a path, Hub data or None.

    Raises ZooError where its parameters are wrong or the name is ambiguous.
    """
    # A path has a slash or a dot, and no component has.
    bare = (spec or "").partition("(")[0].strip()
    known = (name for c in registry.components("data") for name in (c.name, c.full_name))
    return registry.choose("data", spec) if spec is not None and bare in known else None


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
    if choice.given:
        data = dataclasses.replace(data, name=str(choice))
    return data


def no_such_data(registry: Registry, spec: str, *, pairs: bool = False) -> ZooError:
    """The error for a spec that is no data, or no pairs, and the nearest name or file."""
    data = registry.components("data")
    hint = nearest(spec, [registry.label(c) for c in data if not pairs or c.can("pairs")])
    if pairs:
        a_path = "or a path of a TSV file, SOURCE<TAB>TARGET in every line"
        return ZooError(f"no pairs '{spec}', and no such file{hint}; {a_path}")
    if re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", spec):
        hint = f"; for a data set of the Hub say '{HUB}{spec}'"
    elif "/" in spec:
        path = Path(spec).expanduser()
        neighbours = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        close = difflib.get_close_matches(path.name, neighbours, n=1, cutoff=0.5)
        hint = f"; did you mean '{close[0]}'?" if close else ""
    else:
        either = f"or a path, or {HUB}owner/name"
        return ZooError(f"no data '{spec}', and no such file or directory{hint}; {either}")
    return ZooError(f"no file or directory '{spec}'{hint}")


def portable_spec(registry: Registry, name: str) -> str:
    """What loads data of this name on any machine; empty where they are a file of this one."""
    try:
        return name if name.startswith(HUB) or find_registered(registry, name) else ""
    except ZooError:  # a file whose name is almost that of a component
        return ""
