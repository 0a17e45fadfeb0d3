"""From what a user writes after ``--data``, or names as texts to predict, to data."""

from __future__ import annotations

import dataclasses
import difflib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from zoo.config.reading import TABLES_ONLY, Reading, TextReading, given_flags
from zoo.data.sources.corpus import Corpus, Pair, Pairs, Texts, plain_words
from zoo.data.sources.in_memory import given_as
from zoo.data.sources.labelled_texts import LabelledTexts, joined_text
from zoo.data.sources.problems import find_columns, read_or_explain, usable
from zoo.data.sources.row_reader import C, RowReader, column_names
from zoo.data.sources.splits import read_folder, stratified
from zoo.data.sources.tables import FORMATS, numbered, read_rows
from zoo.data.sources.text_file import (
    data_suffix,
    decoded_lines,
    read_text,
    text_lines,
    within,
    without_end,
)
from zoo.errors import ZooError, listed, nearest, one_line
from zoo.registry import Choice, Registry

DEFAULT, FALLBACK, DEFAULT_PAIRS = "bbc-news", "newswire", "reverse"
HUB = "hub:"
PIPE = "-"  # stdin, given as a file
TEXT = "text"  # the column that is read by default
TENTH = 10
LABELLED_TEXTS = LabelledTexts()
READ_ALL = Reading()
D = TypeVar("D")


def load_corpus(
    registry: Registry, spec: str | None, reader: LabelledTexts = LABELLED_TEXTS
) -> tuple[Corpus, list[str]]:
    """The corpus a user asked for, and notices of one line each to print.

    spec: as of ``load_data``; or None for bbc-news, or newswire where the Hub cannot be reached
    and its cache has no copy. Raises as ``load_data`` does.
    """
    if spec is not None:
        return load_data(registry, spec, reader, Corpus)
    from zoo.data.sources.hub import HubError

    reader.refuse_columns(DEFAULT)
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
    if spec.startswith(HUB):
        from zoo.data.sources import hub

        return read_or_explain(
            lambda options: hub.load(spec.removeprefix(HUB), reader.corrected(options))
        )
    found = _registered_or_path(registry, spec, kind, reader.refuse_columns)
    if not isinstance(found, Path):
        return found, []
    if given := given_as(found):
        reader.refuse_formats(f"{given} is none")
    name = found.resolve().name

    def read(options: Mapping[str, Any]) -> tuple[C, list[str]]:
        return reader.corrected(options).read(found, name=name, given_as=given)

    return read_or_explain(read, again=found.is_file() or found.is_dir())


def load_texts(
    registry: Registry,
    spec: str,
    reader: LabelledTexts = LABELLED_TEXTS,
    *,
    keep_duplicates: bool = False,
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
        its = reader.reading
        plain = Reading(encoding=its.encoding, size_limit=its.size_limit)
        if reader != LabelledTexts(reading=plain):
            raise ZooError(
                f"'{spec}' is text, which --text-column and other options of tables are not for"
            )
        told: list[str] = []
        return read_plain_text(path, plain, told), told
    choice = find_registered(registry, spec)
    if choice is not None and choice.can("text"):
        return build_registered(choice, Texts), []
    corpus, notices = load_corpus(registry, spec, reader)
    validation, train, how = corpus.validation_texts, corpus.train_texts, "the validation split"
    if not validation:
        validation = train[TENTH - 1 :: TENTH]
        train = [text for number, text in enumerate(train, start=1) if number % TENTH]
        how = "every tenth training text"
    if not validation:
        raise ZooError(f"{corpus.name}: {len(train)} training texts; at least {TENTH} are needed")
    held_out, in_train = ({plain_words(text) for text in part} for part in (validation, train))
    duplicates = sum(plain_words(text) in in_train for text in validation)
    if duplicates and not keep_duplicates:
        train = [text for text in train if plain_words(text) not in held_out]
        if not train:
            raise ZooError(f"{corpus.name}: every training text is also in the validation part")
    notes = {**corpus.notes, "held out": how}
    return Texts(corpus.name, train, validation, notes, duplicates), notices


def read_plain_text(
    path: Path, reading: TextReading = READ_ALL, notices: list[str] | None = None
) -> Texts:
    """One file of plain text, divided; ZooError where it cannot be read or is empty.

    The validation part is the last tenth, from the next line on, so that it comes after all the
    training text. reading, notices: as of ``read_text``.
    """
    text = read_text(path, reading, notices)
    if not text.strip():
        raise ZooError(f"{path} is empty: there is no text to train on")
    cut = len(text) - max(1, len(text) // TENTH)
    line_end = text.find("\n", cut)
    if 0 <= line_end < len(text) - 1:
        cut = line_end + 1
    notes = {"held out": "the last tenth of the file"}
    return Texts(path.name, [text[:cut]], [text[cut:]], notes)


def load_pairs(
    spec: str,
    registry: Registry,
    reading: TextReading = READ_ALL,
    notices: list[str] | None = None,
) -> Pairs:
    """The pairs of registered data, or of a TSV file: a source, a tab and a target in every line.

    A quarter of a file's sources are for test; all pairs of one source are in the same split.
    notices: what a user should know of a file is added to it. Raises ZooError where they cannot be
    loaded, naming the line that is no pair, if it is not to be left out.
    """

    def refuse_options(spec: str) -> None:
        if given := given_flags(reading):
            raise ZooError(f"{listed(given.values())}: for files, and '{spec}' is none")

    path = _registered_or_path(registry, spec.strip(), Pairs, refuse_options)
    if not isinstance(path, Path):
        return path
    told: list[str] = []
    lines = read_text(path, reading, told).split("\n")
    if not lines[-1].strip():
        lines.pop()  # after the last newline
    by_source: dict[str, list[Pair]] = {}
    for pair in usable(str(path), numbered(lines), _pair, reading, told):
        by_source.setdefault(pair[0], []).append(pair)
    if notices is not None:
        notices += told
    groups = list(by_source.values())
    if len(groups) < 2:
        raise ZooError(f"{path} has {len(groups)} different sources; a test split needs two")
    train, test = stratified([""] * len(groups), seed=0)
    notes = {"split": f"by source, seed 0, {len(test)} of {len(groups)} for test"}
    if told:
        notes["reading"] = "; ".join(told).replace(str(path), path.name)
    in_train, in_test = (
        [pair for index in part for pair in groups[index]] for part in (train, test)
    )
    return Pairs(path.name, in_train, in_test, notes)


def _pair(where: str, line: str) -> Pair:
    sides = [side.strip() for side in line.split("\t")]
    if len(sides) != 2:
        raise ZooError(f"{where}: {len(sides) - 1} tabs, where SOURCE<TAB>TARGET has one")
    source, target = sides
    if not source or not target:
        raise ZooError(f"{where}: the {'target' if source else 'source'} is empty")
    return source, target


def read_texts(
    source: str,
    column: str = TEXT,
    what: str = "text",
    reading: Reading = READ_ALL,
    notices: list[str] | None = None,
) -> Iterator[str]:
    """The texts of a file, or of stdin for ``-``, to predict or to continue.

    Of a table, told by its ending or because ``reading`` says so, a column or several; of any
    other file every line, read as it is asked for; of a directory every file. what: how an error
    names a text. notices: what a user should know is added to it, at the latest after the last
    text. Raises ZooError, naming the line or row, for an empty text, whatever cannot be read and an
    option without effect, and at the end of a file that contains none.
    """
    notices = [] if notices is None else notices
    file = None if source == PIPE else within(Path(source).expanduser(), reading)
    name = "stdin" if file is None else str(file)
    of_tables = [f for n, f in given_flags(reading).items() if n in (*TABLES_ONLY, "file_format")]
    is_folder = file is not None and file.is_dir()
    is_table = bool(file and not is_folder and (of_tables or data_suffix(file) in FORMATS))
    if not is_table and (flags := [*of_tables, *(["--text-column"] if column != TEXT else [])]):
        held = "every file is a text" if is_folder else "every line is a text"
        raise ZooError(f"{listed(flags)}: for tables, and of {name} {held}")
    if file and (is_table or is_folder):
        read_all = read_folder if is_folder else read_rows

        def read(options: Mapping[str, Any]) -> tuple[list[str], list[str]]:
            columns = column_names(options.get("text_column", column)) if is_table else [TEXT]
            dropping = reading.drop_bad_rows or options.get("drop_bad_rows")
            its, told = reading.model_copy(update={"drop_bad_rows": dropping}), list[str]()
            rows = [*read_all(file, its, told)]
            named = dict.fromkeys(columns, "text_column")
            find_columns(name, rows, named, told, header=its.header)
            found = usable(name, rows, lambda at, row: joined_text(at, row, columns), its, told)
            if texts := [*found]:
                return texts, told
            raise ZooError(f"{name} contains no {what}")

        texts, told = read_or_explain(read, again=is_folder or file.is_file())
        notices += told
        yield from texts
    else:
        lines = (
            text_lines(file, reading, notices)
            if file
            else decoded_lines(name, sys.stdin.buffer, reading)
        )
        found = False
        each = numbered(map(without_end, lines))
        for text in usable(name, each, _line, reading, notices, at_once=True):
            found = True
            yield text
        if not found:
            raise ZooError(f"{name} contains no {what}")


def _line(where: str, text: str) -> str:
    if not text.strip():
        raise ZooError(f"{where} is empty: every line must hold a text")
    return text


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
        data = dataclasses.replace(cast(Any, data), name=str(choice))
    return cast(D, data)


def _registered_or_path(
    registry: Registry, spec: str, kind: type[D], refuse_options: Callable[[str], None]
) -> D | Path:
    """The registered data that a spec names, for which options of files are refused, or a path."""
    if choice := find_registered(registry, spec):
        refuse_options(spec)
        return build_registered(choice, kind)
    path = Path(spec).expanduser()
    if not spec or not path.exists():
        raise no_such_data(registry, spec, pairs=issubclass(kind, Pairs))
    return path


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
