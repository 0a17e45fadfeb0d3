"""From frames to a data set, whatever the source: rows are checked, labelled, and divided."""

from __future__ import annotations

import re
import unicodedata
from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from pydantic import BaseModel

from zoo.config.reading import Division, Reading, TextReading, given_flags, part_of
from zoo.data.sources import frames as files
from zoo.data.sources.corpus import (
    IGNORED,
    TEST,
    TRAIN,
    VALIDATION,
    Corpus,
    DataSet,
    Examples,
    Pairs,
    TaggedCorpus,
    check_string,
    check_tokens,
    is_blank,
    plain_words,
)
from zoo.data.sources.diagnostics.drawing import Draw
from zoo.data.sources.frames import Table
from zoo.errors import DataError, ZooError, listed, nearest
from zoo.registry.catalog import split_list

if TYPE_CHECKING:
    import pandas as pd

TEST_SHARE = 0.25
EXAMPLES = 5  # rows with one problem, or labels, that a line names
NAMES_COLUMN = "label_text"  # of the names of labels that are numbers


class Row(NamedTuple):
    """A row that can be used: a text and its label as text; of tagged texts lists of these.

    group: where groups are asked for. name: of a label that is a number, where the row has one.
    """

    text: Any
    label: Any
    group: str = ""
    name: str = ""


class RowReader(Reading, Division):
    """Makes a data set of rows. The fields are those options of a task that say how.

    kind: of the data set. formats: endings of the files that it reads. class_folders: whether it
    reads a folder of text files for every class.
    """

    kind: ClassVar[type[DataSet]]
    formats: ClassVar[tuple[str, ...]]
    class_folders: ClassVar[bool] = False

    group_column: str = ""

    @abstractmethod
    def row(self, values: Mapping[str, Any]) -> Row:
        """The row of these values, without its group; ZooError where it cannot be used."""

    def table(self, file: Path, source: str) -> Table:
        """The rows of a file, or of a folder. source: what an error calls it, if not its name."""
        if not file.is_dir():
            return files.read_table(file, part_of(Reading, self), source)
        if flags := self.flags(Reading, besides=TextReading):
            raise ZooError(f"{listed(flags)}: for tables, and {file} is a folder of texts")
        return files.read_folder(file, self.encoding)

    def held_out(self, frame: pd.DataFrame) -> tuple[str, list[int]]:
        """How rows for the test split are drawn, and which; ZooError for too few."""
        return "by text", self._stratified([""] * len(frame))

    def flags(self, of: type[BaseModel], besides: type[BaseModel] = BaseModel) -> list[str]:
        """The flags of those options of a model that are not as by default."""
        return list(given_flags(part_of(of, self), besides).values())

    def columns(self) -> dict[str, str]:
        """The columns to read, each with the option that names it."""
        columns: dict[str, str] = {}
        for name in [name for name in type(self).model_fields if name.endswith("_column")]:
            flag, column = f"--{name.replace('_', '-')}", getattr(self, name)
            for each in split_list(column, f"{flag} ") if name == "text_column" else [column]:
                if each in columns:
                    raise ZooError(f"'{each}' is both {columns[each]} and {flag}")
                columns[each] = flag
        columns.pop("", None)
        return columns

    def tables(self, path: Path, source: str = "") -> dict[str, list[Table]]:
        """The rows of each split of a file or a directory.

        source: what errors call data that Python held, ``the DataFrame``.
        """
        if not path.exists():
            raise ZooError(f"no file or directory '{path}'")
        formats = self.formats if self.file_format == "auto" else ()
        splits = files.split_files(path, formats, folders=self.class_folders)
        tables = {}
        for split, paths in splits.items():
            called = f"{split} of {source}" if source and len(splits) > 1 else source
            tables[split] = [self.table(file, called) for file in paths]
        return tables

    def examples(self, path: Path) -> tuple[Examples, list[str]]:
        """All examples of a file, or of all splits of a directory, and notices; undivided.

        For scoring alone: any number, whatever their labels, which have their names. Raises
        ZooError, with all that is wrong.
        """
        import pandas as pd

        if flags := self.flags(Division):
            raise ZooError(f"{listed(flags)}: for data that are divided, and these are read whole")
        errors, notices = list[str](), list[str]()
        parts = [self._checked(each, errors, notices) for each in self.tables(path).values()]
        if errors:
            raise DataError(list(dict.fromkeys(errors)))
        frame = pd.concat(parts)
        labels = frame["name"] if frame["name"].all() else frame["label"]
        return Examples(frame["text"].tolist(), labels.tolist(), _groups(frame)), notices

    def data_set(self, name: str, tables: Mapping[str, Sequence[Table]]) -> tuple[Any, list[str]]:
        """The data set of the tables of its splits, and notices.

        Without a test split the validation split is the test split, or train is divided, unless an
        option says where it comes from. Raises ZooError with all that is wrong.
        """
        tables, how, flags = dict(tables), "as given", self.flags(Division)
        errors, reading, scoring = list[str](), list[str](), list[str]()
        if flags and TEST in tables:
            errors.append(f"{listed(flags)}: for data without a test split, and {name} has one")
        elif self.test and len(flags) > 1:
            errors.append(f"{listed(flags)}: a test file, or a part held out, but not both")
        elif self.test:
            file = Path(self.test).expanduser()
            splits = self.tables(file)
            tables[TEST] = splits.get(TEST) or next(iter(splits.values()))
            how = f"test split from {file.name}"
        elif TEST not in tables and VALIDATION in tables and not flags:
            tables[TEST] = tables.pop(VALIDATION)
            scoring.append(f"{name} has no test split; its validation split is used")
        if TRAIN not in tables:
            raise ZooError(f"{name} has no train split; there is: {', '.join(tables)}")
        frames = {split: self._checked(each, errors, reading) for split, each in tables.items()}
        if self.kind is Corpus:
            errors += spellings(name, [label for f in frames.values() for label in f["label"]])
        train = frames[TRAIN]
        if TEST not in frames and len(train):
            try:
                way, rows = self.held_out(train)
                how = f"{way}, seed {self.split_seed}, {len(rows)} of {len(train)} for test"
                frames[TEST] = train.iloc[rows]
                frames[TRAIN] = train.iloc[sorted({*range(len(train))}.difference(rows))]
                scoring.append(f"{name} has no test split; {how}")
            except ZooError as error:
                errors.append(f"{name} has no test split and cannot be divided: {error}")
        if errors:
            raise DataError(list(dict.fromkeys(errors)))
        notes = {"split": how, **({"reading": "; ".join(reading)} if reading else {})}
        scoring += in_one_split(frames) if self.kind.labels else []
        return self._made(name, frames, notes), [*reading, *scoring]

    def _checked(
        self, tables: Sequence[Table], errors: list[str], notices: list[str]
    ) -> pd.DataFrame:
        """The rows of tables that can be used, as a frame with the fields of ``Row``.

        What is wrong with the columns and with the other rows is added to the errors or, where
        these rows are left out, to the notices.
        """
        import pandas as pd

        places, rows = list[str](), list[Row]()
        for source, frame, unread in tables:
            bad, count = dict(unread), len(frame) + len(unread)
            if missing := self._missing(frame):
                errors.append(f"{source} has no column {missing}")
                continue
            records = cast(Any, frame.to_dict("records"))
            for place, values in zip(frame.index, records, strict=True):
                try:
                    group = values[self.group_column] if self.group_column else ""
                    if self.group_column and (group is None or is_blank(str(group))):
                        raise ZooError(f"'{self.group_column}' (--group-column) is empty")
                    rows.append(self.row(values)._replace(group=str(group).strip()))
                    places.append(place)
                except ZooError as error:
                    bad[place] = str(error)
            places_of: dict[str, list[str]] = {}
            for place, what in bad.items():
                places_of.setdefault(what, []).append(place)
            lines = [
                f"{source}, {listed(named, EXAMPLES)}: {what}"
                + (f" ({len(named)} of {count} rows)" if len(named) > 1 else "")
                for what, named in places_of.items()
            ]
            if not count:
                errors.append(f"{source} is empty: it has no rows")
            elif self.drop_bad_rows and len(bad) == count:
                errors.append(f"{source}: no row can be used")
            if self.drop_bad_rows:
                notices += [f"{line}; left out" for line in lines]
            elif lines:
                errors += [*lines[:-1], f"{lines[-1]}; --drop-bad-rows leaves such rows out"]
        return pd.DataFrame(rows, index=places, columns=Row._fields, dtype=object)

    def _missing(self, frame: pd.DataFrame) -> str:
        """The columns that a frame lacks, with those that it has; empty if it lacks none."""
        there = [str(column) for column in frame.columns]
        missing = {name: flag for name, flag in self.columns().items() if name not in there}
        if not missing or not len(frame):
            return ""
        names = ", ".join(f"'{column}' ({flag})" for column, flag in missing.items())
        hint = nearest(next(iter(missing)), [column[:40] for column in there])
        by_line = frame.index[0].startswith("line") and frame.index[0] != "line 1"
        if self.header and by_line and files.TOKENS not in there:
            hint += "; say --no-header if its first line is no header, and --delimiter if another "
            hint += "character divides its columns"
        return names + hint

    def _stratified(self, labels: Sequence[Hashable]) -> list[int]:
        return stratified(labels, self.split_seed, share=self.test_size or TEST_SHARE)

    def _made(self, name: str, frames: Mapping[str, pd.DataFrame], notes: dict[str, str]) -> Any:
        """The data set of its splits; ZooError where they do not fit."""
        import pandas as pd

        every = pd.concat([*frames.values()])
        labels = sorted({*_flat(every["label"])})
        are_numbers = all(re.fullmatch(r"-?\d{1,18}", label) for label in labels)
        labels = sorted(labels, key=int) if are_numbers else labels
        codes: dict[str | None, int] = {label: code for code, label in enumerate(labels)}
        codes[None] = IGNORED
        names: dict[str, str] = {}
        if are_numbers and frames[TRAIN]["name"].all():
            named = every[every["name"] != ""].drop_duplicates(["label", "name"])
            for label in named["label"][named["label"].duplicated()]:
                raise ZooError(f"{name}: label {label} has two names in '{NAMES_COLUMN}'")
            names = dict(zip(named["label"], named["name"], strict=True))
        splits = {}
        for split, frame in frames.items():
            targets = [
                [codes[tag] for tag in label] if isinstance(label, list) else codes[label]
                for label in frame["label"]
            ]
            splits[split] = Examples(frame["text"].tolist(), targets, _groups(frame))
        return self.kind(name, splits, [names.get(label, label) for label in labels], notes)


class LabelledTexts(RowReader):
    """Rows with a text and a label, or a folder of texts for every class.

    text_column: a column, or a comma list of columns whose texts are joined.
    """

    kind = Corpus
    formats = tuple(files.FORMATS)
    class_folders = True

    text_column: str = files.TEXT
    label_column: str = files.LABEL

    def row(self, values: Mapping[str, Any]) -> Row:
        label = label_of(f"'{self.label_column}'", values[self.label_column])
        name = values.get(NAMES_COLUMN)
        text = joined_text(values, split_list(self.text_column))
        return Row(text, label, name=name.strip() if isinstance(name, str) else "")

    def held_out(self, frame: pd.DataFrame) -> tuple[str, list[int]]:
        labels = frame["label"].tolist()
        counts, places = Counter(labels), dict(zip(labels, frame.index, strict=True))
        if single := [f"'{name}' ({places[name]})" for name in counts if counts[name] < 2]:
            are = f"{len(single)} classes have" if len(single) > 1 else "1 class has"
            raise ZooError(f"{are} only one document, {listed(single, EXAMPLES)}")
        return "stratified", self._stratified(labels)


class TaggedTexts(RowReader):
    """Rows with a list of tokens and a list of tags; CoNLL files as ``read_conll`` reads them."""

    kind = TaggedCorpus
    formats = (*files.CONLL, ".jsonl", ".ndjson", ".json", ".parquet")

    tokens_column: str = files.TOKENS
    tags_column: str = files.TAGS

    def table(self, file: Path, source: str) -> Table:
        if files.data_suffix(file) in files.CONLL:
            return files.read_conll(file, self.encoding)
        return super().table(file, source)

    def row(self, values: Mapping[str, Any]) -> Row:
        for column in (self.tokens_column, self.tags_column):
            if not isinstance(values[column], list):
                raise ZooError(f"'{column}' is no list but a {type(values[column]).__name__}")
        tokens, tags = values[self.tokens_column], values[self.tags_column]
        check_tokens("it", tokens, tags)
        what, ignored = f"a tag in '{self.tags_column}'", (IGNORED, str(IGNORED))
        return Row(tokens, [None if tag in ignored else label_of(what, tag) for tag in tags])


class PairedTexts(RowReader):
    """Lines of a source, a tab and a target. All pairs of one source are in the same split."""

    kind = Pairs
    formats = (".tsv", ".txt")

    def table(self, file: Path, source: str) -> Table:
        text = files.read_text(file, self.encoding)
        return files.delimited(source or file.name, text, "\t", header=False, quotes=False)

    def row(self, values: Mapping[str, Any]) -> Row:
        if len(values) != 2:
            raise ZooError(f"{len(values)} columns, where SOURCE<TAB>TARGET has two")
        return Row(*(joined_text(values, [side]).strip() for side in values))

    def held_out(self, frame: pd.DataFrame) -> tuple[str, list[int]]:
        sources = list(dict.fromkeys(frame["text"]))
        drawn = {sources[number] for number in self._stratified([""] * len(sources))}
        return "by source", [row for row, text in enumerate(frame["text"]) if text in drawn]

    def _made(self, name: str, frames: Mapping[str, pd.DataFrame], notes: dict[str, str]) -> Pairs:
        splits = {
            split: Examples(frame["text"].tolist(), frame["label"].tolist())
            for split, frame in frames.items()
        }
        return Pairs(name, splits, notes=notes)


class UnlabelledTexts(RowReader):
    """Texts to predict or to continue.

    Of a table a column or several, of a CoNLL file the lists of tokens, of a directory every file,
    of any other file and of stdin (``-``) every line.
    """

    text_column: str = files.TEXT

    def tables(self, path: Path, source: str = "") -> dict[str, list[Table]]:
        return {TRAIN: [self.table(path, source)]}

    def table(self, file: Path, source: str) -> Table:
        suffix, of_tables = files.data_suffix(file), self.flags(Reading, besides=TextReading)
        if file.is_dir() or of_tables or suffix in files.FORMATS:
            return super().table(file, source)
        if suffix not in files.CONLL_ONLY:
            return files.read_lines(file, self.encoding)
        table = files.read_conll(file, self.encoding)
        return table._replace(frame=table.frame.rename(columns={files.TOKENS: files.TEXT}))

    def row(self, values: Mapping[str, Any]) -> Row:
        if isinstance(tokens := values.get(files.TEXT), list):
            return Row(tokens, "")
        return Row(joined_text(values, split_list(self.text_column)), "")


def joined_text(values: Mapping[str, Any], columns: Sequence[str]) -> str:
    """The texts in these columns, joined by a line end; those that are empty are left out.

    Raises ZooError where one is missing or not text, all are empty, or half a character is in it.
    """
    for column in columns:
        check_string(f"'{column}'", values[column])
    texts = [values[column] for column in columns if not is_blank(values[column])]
    if not texts:
        verb = "is" if len(columns) == 1 else "are"
        raise ZooError(f"{listed(f'{column!r}' for column in columns)} {verb} empty")
    return "\n".join(texts)


def label_of(what: str, value: Any) -> str:
    """A label or a tag as text, in plain form; ZooError for none, a fraction, or a list."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    if value is None or (isinstance(value, str) and is_blank(value)):
        raise ZooError(f"{what} is missing")
    if not isinstance(value, str):
        raise ZooError(f"{what} must be text or a whole number, not {value!r:.40}")
    check_string(what, value)
    return plain_label(value)


@cache
def plain_label(label: str) -> str:
    """A label without differences that nobody sees, and ``1.0`` as ``1``.

    In Unicode's form NFKC, without the characters of category Cf (zero width, directions, soft
    hyphens, byte order marks) and without outer spaces.
    """
    seen = (c for c in unicodedata.normalize("NFKC", label) if unicodedata.category(c) != "Cf")
    return re.sub(r"^(-?\d+)\.0+$", r"\1", "".join(seen).strip())


def in_one_split(frames: Mapping[str, pd.DataFrame]) -> list[str]:
    """A line for each split with labels that no other split has."""
    labels = {split: {*_flat(frame["label"])} for split, frame in frames.items()}
    counts = Counter(label for own in labels.values() for label in own)
    alone = {split: sorted(la for la in own if counts[la] == 1) for split, own in labels.items()}
    return [f"only {split} has {listed(map(repr, own), 5)}" for split, own in alone.items() if own]


def _flat(labels: Iterable[Any]) -> Iterator[str]:
    """The labels of texts, or the tags of their tokens that count."""
    for label in labels:
        yield from (tag for tag in label if tag is not None) if type(label) is list else [label]


def _groups(frame: pd.DataFrame) -> list[str]:
    return [group for group in frame["group"] if group]


def spellings(name: str, labels: Iterable[str]) -> list[str]:
    """An error for labels that differ in case or spaces only, with their numbers of texts."""
    alike: dict[str, list[str]] = {}
    for label, count in Counter(labels).most_common():
        alike.setdefault(plain_words(label).replace(" ", ""), []).append(f"'{label}' ({count})")
    several = "; ".join(" and ".join(names) for names in alike.values() if len(names) > 1)
    return [f"{name}: labels that differ in case or spaces only: {several}"] if several else []


def stratified(labels: Sequence[Hashable], seed: int, *, share: float = TEST_SHARE) -> list[int]:
    """Indices of the test split, in ascending order.

    This share of every class, at least one document and not all, is for test; the same labels,
    seed and share give the same split on every machine. The only document of a class is for train.
    Raises ZooError for fewer than two.
    """
    if len(labels) < 2:
        raise ZooError(f"{len(labels)} of its texts are too few")
    indices_of: dict[Hashable, list[int]] = {}
    for index, label in enumerate(labels):
        indices_of.setdefault(label, []).append(index)
    # The usual stratified split leaves a small class out of test; here each is divided by itself.
    draw, test = Draw(seed), list[int]()
    for indices in indices_of.values():
        count = min(max(1, round(len(indices) * share)), len(indices) - 1)
        test += draw.sample(indices, count)
    return sorted(test)
