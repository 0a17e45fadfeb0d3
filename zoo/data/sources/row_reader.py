"""From frames to a data set, whatever the source: rows are checked, labelled, and divided."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

from zoo.config.reading import Division, Reading, TextReading, given_flags
from zoo.data.sources.corpus import (
    IGNORED,
    TEST,
    TRAIN,
    VALIDATION,
    Corpus,
    Examples,
    TaggedCorpus,
    check_characters,
    check_tokens,
    plain_words,
)
from zoo.data.sources.diagnostics.drawing import Draw
from zoo.data.sources.tables import (
    CONLL,
    CONLLU,
    FORMATS,
    LABEL,
    SEPARATORS,
    TEXT,
    Problems,
    Table,
    data_suffix,
    read_conll,
    read_folder,
    read_table,
    split_files,
)
from zoo.errors import ZooError, counted, listed, nearest
from zoo.registry.catalog import split_list

if TYPE_CHECKING:
    import pandas as pd

C = TypeVar("C", Corpus, TaggedCorpus)

READ_ALL, USUAL = Reading(), Division()
TEST_SHARE = 0.25
RARE = 10  # a class with fewer training texts, and a tenth of the largest's, is told of
SHOWN = 12  # classes that a line names
NAMES_COLUMN = "label_text"  # of the names of labels that are numbers
TOKENS, TAGS = "tokens", "tags"


class ScoringNotice(str):
    """A notice of what is held out to be scored: not for a training on all the data."""


class Row(NamedTuple):
    """A row that can be used: a text and its label, as text; of tagged texts lists of these.

    group: where groups are asked for. name: of a label that is a number, where the row has one.
    """

    text: Any
    label: Any
    group: str = ""
    name: str = ""


@dataclass(frozen=True)
class RowReader(ABC, Generic[C]):
    """Makes a data set of rows.

    texts, labels, group_column: the columns to read. reading: how files are read. division: where
    the test split comes from.
    """

    kind: ClassVar[type[Corpus] | type[TaggedCorpus]]
    flags: ClassVar[Mapping[str, str]]  # the options that name the columns
    formats: ClassVar[tuple[str, ...]]  # endings of the files that it reads
    class_folders: ClassVar[bool] = False  # it reads a folder of text files for every class

    texts: str
    labels: str
    group_column: str = ""
    reading: Reading = READ_ALL
    division: Division = USUAL

    @abstractmethod
    def row(self, values: Mapping[str, Any]) -> Row:
        """The row of these values, without its group; ZooError where it cannot be used."""

    @abstractmethod
    def divided(self, name: str, frame: pd.DataFrame) -> tuple[list[int], list[int], str]:
        """Indices for train and test, and a note of how they were drawn; ZooError for too few."""

    def table(self, file: Path, source: str = "") -> Table:
        """The rows of a file. source: what an error calls it, if not by its path."""
        return read_table(file, self.reading, source)

    def columns(self) -> dict[str, str]:
        """The columns to read, each with the option that names it."""
        columns = dict.fromkeys(column_names(self.texts), self.flags["texts"])
        columns.setdefault(self.labels, self.flags["labels"])
        if self.group_column:
            columns.setdefault(self.group_column, self.flags["group_column"])
        return columns

    def given(self) -> list[str]:
        """The flags of the options that are not as by default."""
        usual = {column.name: column.default for column in fields(self)}
        flags: list[str] = [
            flag for name, flag in self.flags.items() if getattr(self, name) != usual[name]
        ]
        return [*flags, *(given_flags(self.reading) | given_flags(self.division)).values()]

    def read(self, path: Path, *, name: str, source: str = "") -> tuple[C, list[str]]:
        """The data set of a file, or of a directory with a train and a test file, and notices.

        source: what errors call data that Python held, ``the DataFrame``. Raises ZooError, with all
        that is wrong, for files that cannot be read or do not fit.
        """
        problems = Problems(drop_bad_rows=self.reading.drop_bad_rows)
        return self.make(name, self._frames(path, problems, source), problems, (path,))

    def read_undivided(self, path: Path, notices: list[str]) -> Examples:
        """All examples of a file, or of all splits of a directory; raises as ``read`` does.

        For scoring alone: any number, whatever their labels, which have their names.
        """
        import pandas as pd

        if flags := list(given_flags(self.division).values()):
            raise ZooError(f"{listed(flags)}: for data that are divided, and these are read whole")
        problems = Problems(drop_bad_rows=self.reading.drop_bad_rows)
        frame = pd.concat(self._frames(path, problems).values())
        problems.refuse()
        notices += problems.notices
        labels = frame["name"] if frame["name"].all() else frame["label"]
        groups = [group for group in frame["group"] if group]
        return Examples(frame["text"].tolist(), labels.tolist(), groups)

    def make(
        self,
        name: str,
        frames: Mapping[str, pd.DataFrame],
        problems: Problems,
        read: Sequence[Path] = (),
    ) -> tuple[C, list[str]]:
        """The data set of the frames of its splits, and notices.

        Without a test split the validation split is the test split, or train is divided, unless the
        division says where it comes from. problems: of reading the frames; its notices are kept in
        the notes. read: what was read. Raises ZooError with all that is wrong.
        """
        splits, how = dict(frames), "as given"
        notices: list[str] = []
        flags = list(given_flags(self.division).values())
        if flags and TEST in splits:
            problems.errors.append(
                f"{listed(flags)}: for data without a test split, and {name} has one"
            )
        elif self.division.test and len(flags) > 1:
            problems.errors.append(
                f"{listed(flags)}: a test file, or a part held out, but not both"
            )
        elif self.division.test:
            import pandas as pd

            file = Path(self.division.test).expanduser()
            splits[TEST] = pd.concat(self._frames(file, problems).values())
            how, read = f"test split from {file.name}", (*read, file)
        elif TEST not in splits and VALIDATION in splits and not flags:
            splits[TEST] = splits.pop(VALIDATION)
            notices = [f"{name} has no test split; its validation split is used"]
        if self.kind is Corpus:
            problems.errors += spellings(
                name, [label for f in splits.values() for label in f.label]
            )
        train = splits[TRAIN]
        if TEST not in splits and len(train):
            try:
                rows, test_rows, how = self.divided(name, train)
                splits |= {TRAIN: train.iloc[rows], TEST: train.iloc[test_rows]}
                notices = [f"{name} has no test split; {how}"]
            except ZooError as error:
                problems.errors.append(str(error))
        problems.refuse()
        notes = {"split": how}
        if problems.notices:
            notes["reading"] = "; ".join(problems.notices)
        # The same data in another directory are the same data. The name of "." is empty.
        for path in (path for path in read if path.name):
            notes = {what: note.replace(str(path), path.name) for what, note in notes.items()}
        made: C = self._made(name, splits, notes)
        return made, [*problems.notices, *map(ScoringNotice, [*notices, *self.remarks(made)])]

    def remarks(self, made: C) -> list[str]:
        """What a user should know of the finished data set."""
        return []

    def usable(self, table: Table, problems: Problems) -> pd.DataFrame:
        """The rows of a table that can be used, as a frame with the fields of ``Row``.

        What is wrong with the others, and with the columns, is added to the problems.
        """
        import pandas as pd

        source, frame, bad = table.source, table.frame, dict(table.bad)
        rows: dict[str, Row] = {}
        if not len(frame) and not bad:
            problems.errors.append(f"{source} is empty: it has no rows")
        elif missing := self._missing(source, frame):
            problems.errors += missing
        else:
            for place, values in zip(frame.index, frame.to_dict("records"), strict=True):
                try:
                    group = self._group(values.get(self.group_column))
                    rows[place] = self.row(cast(Any, values))._replace(group=group)
                except ZooError as error:
                    bad[place] = str(error)
            problems.bad_rows(source, bad, len(frame) + len(table.bad))
            if problems.drop_bad_rows and not rows:
                problems.errors.append(f"{source}: no row can be used")
        return pd.DataFrame([*rows.values()], index=[*rows], columns=Row._fields, dtype=object)

    def _missing(self, source: str, frame: pd.DataFrame) -> list[str]:
        """An error for columns that are not there, or there twice."""
        there, columns = [str(column) for column in frame.columns], self.columns()
        if twice := [column for column in columns if there.count(column) > 1]:
            return [f"{source} has two columns '{twice[0]}'"]
        missing = {column: flag for column, flag in columns.items() if column not in there}
        if not missing or not len(frame):
            return []
        names = ", ".join(f"'{column}' ({flag})" for column, flag in missing.items())
        if not self.reading.header:
            first = frame.iloc[0].astype(str).str.slice(0, 20)
            known = ", ".join(f"{column} ({value!r})" for column, value in first.items())
            return [f"{source} has no column {names}; by number there is: {known}"]
        hint = nearest(next(iter(missing)), [column[:40] for column in there])
        if frame.index[0].startswith("line") and frame.index[0] != "line 1":
            hint += "; if its first line is no header, say --no-header"
            if len(there) == 1:
                hint += ", and if another character divides its columns, --delimiter"
        return [f"{source} has no column {names}{hint}"]

    def _group(self, value: Any) -> str:
        """The group of a row; empty where no column of groups was asked for."""
        if not self.group_column:
            return ""
        if _is_missing(value) or isinstance(value, list | dict) or not str(value).strip():
            raise ZooError(f"'{self.group_column}' (--group-column) is empty")
        return str(value).strip()

    def _frames(self, path: Path, problems: Problems, source: str = "") -> dict[str, pd.DataFrame]:
        """The usable rows of each split of a file or a directory; source: as of ``read``."""
        import pandas as pd

        if not path.exists():
            raise ZooError(f"no file or directory '{path}'")
        files = split_files(path, self.formats, folders=self.class_folders)
        frames = {}
        for split, of_split in files.items():
            called = f"{split} of {source}" if source and len(files) > 1 else source
            tables = [self._folder(f) if f.is_dir() else self.table(f, called) for f in of_split]
            frames[split] = pd.concat([self.usable(table, problems) for table in tables])
        return frames

    def _folder(self, directory: Path) -> Table:
        """The texts of a folder for every class."""
        if flags := given_flags(self.reading, besides=TextReading):
            folders = f"{directory} has a folder for every class"
            raise ZooError(f"{listed(flags.values())}: for tables, and {folders}")
        table = read_folder(directory, self.reading)
        return table._replace(
            frame=table.frame.rename(columns={TEXT: self.texts, LABEL: self.labels})
        )

    def _made(self, name: str, frames: Mapping[str, pd.DataFrame], notes: dict[str, str]) -> C:
        """The data set of its splits; ZooError where they do not fit."""
        every: list[Any] = [row for frame in frames.values() for row in frame.itertuples()]
        labels, are_numbers = ordered(label for row in every for label in _each(row.label))
        codes: dict[str | None, int] = {label: code for code, label in enumerate(labels)}
        codes[None] = IGNORED
        names: dict[str, str] = {}
        if are_numbers and frames[TRAIN]["name"].all():
            for row in every:
                if row.name and names.setdefault(row.label, row.name) != row.name:
                    both = f"'{names[row.label]}' in one row and '{row.name}' in another"
                    raise ZooError(f"{name}: label {row.label} is {both}")
        splits = {
            split: Examples(
                frame["text"].tolist(),
                [
                    [codes[tag] for tag in label] if isinstance(label, list) else codes[label]
                    for label in frame["label"]
                ],
                [group for group in frame["group"] if group],
            )
            for split, frame in frames.items()
        }
        shown = [names.get(label, label) for label in labels]
        return cast(C, self.kind(name, splits, shown, notes))


@dataclass(frozen=True)
class LabelledTexts(RowReader[Corpus]):
    """Rows with a text and a label, or a folder of texts for every class.

    texts: a column, or a comma list of columns whose texts are joined.
    """

    texts: str = TEXT
    labels: str = LABEL

    kind = Corpus
    flags: ClassVar = {
        "texts": "--text-column",
        "labels": "--label-column",
        "group_column": "--group-column",
    }
    formats = tuple(FORMATS)
    class_folders = True

    def row(self, values: Mapping[str, Any]) -> Row:
        name = values.get(NAMES_COLUMN)
        return Row(
            joined_text(values, column_names(self.texts)),
            _label(f"'{self.labels}'", values.get(self.labels)),
            name=name.strip() if isinstance(name, str) else "",
        )

    def divided(self, name: str, frame: pd.DataFrame) -> tuple[list[int], list[int], str]:
        labels, seed = frame["label"].tolist(), self.division.split_seed
        counts = Counter(labels)
        if single := [
            f"'{label}' ({place})"
            for label, place in zip(labels, frame.index, strict=True)
            if counts[label] < 2
        ]:
            are = f"{len(single)} classes have" if len(single) > 1 else "1 class has"
            raise ZooError(
                f"{name} has no test split and cannot be divided: {are} only one document, "
                f"{listed(single, SHOWN)}"
            )
        train, test = stratified(labels, seed, share=self.division.test_size or TEST_SHARE)
        return train, test, f"stratified, seed {seed}, {len(test)} of {len(labels)} for test"

    def remarks(self, made: Corpus) -> list[str]:
        counts = Counter(made.train.targets)
        limit = min(RARE, max(counts.values()) / RARE)
        rare = [(made.label_names[label], n) for label, n in counts.items() if n < limit]
        if not rare:
            return []
        shown = listed([f"'{name}' ({n})" for name, n in sorted(rare, key=lambda x: x[1])], SHOWN)
        has = f"{len(rare)} classes have" if len(rare) > 1 else "1 class has"
        return [f"{has} fewer than {RARE} training texts: {shown}"]


@dataclass(frozen=True)
class TaggedTexts(RowReader[TaggedCorpus]):
    """Rows with a list of tokens and a list of tags.

    In CoNLL columns the token is the first column and the tag the last one, unless a column is the
    number of another, from 1. Ten columns also have the names of CoNLL-U; in a file that ends in
    ``.conllu`` FORM and UPOS are read.
    """

    texts: str = TOKENS
    labels: str = TAGS

    kind = TaggedCorpus
    flags: ClassVar = {
        "texts": "--tokens-column",
        "labels": "--tags-column",
        "group_column": "--group-column",
    }
    formats = (*CONLL, *(ending for ending, form in FORMATS.items() if form not in SEPARATORS))

    def table(self, file: Path, source: str = "") -> Table:
        suffix = data_suffix(file)
        if suffix not in self.formats:
            known = ", ".join(self.formats)
            raise ZooError(f"{file} is of no format that tagged texts are read from ({known})")
        if suffix in CONLL:
            return read_conll(file, self.reading, self._conll_columns)
        return read_table(file, self.reading, source)

    def _conll_columns(self, file: Path, place: str, width: int) -> dict[str, int]:
        where, usual = f"{file}, {place}", usual_columns(file, width)
        token = _conll_column(where, width, self.texts, TOKENS, usual[0])
        tag = _conll_column(where, width, self.labels, TAGS, usual[1])
        if token == tag:
            raise ZooError(f"{where}: the tokens and the tags are the same column")
        return {self.texts: token, self.labels: tag}

    def row(self, values: Mapping[str, Any]) -> Row:
        tokens, tags = (
            _list(f"'{column}'", values.get(column)) for column in (self.texts, self.labels)
        )
        check_tokens("it", tokens, tags)
        return Row(tokens, [_tag(f"'{self.labels}'", tag) for tag in tags])

    def divided(self, name: str, frame: pd.DataFrame) -> tuple[list[int], list[int], str]:
        tags, seed = frame["label"].tolist(), self.division.split_seed
        share = self.division.test_size or TEST_SHARE
        train, drawn = stratified([""] * len(tags), seed, share=share)
        seen = {tag for row in train for tag in tags[row]}
        test: list[int] = []
        for row in drawn:  # a tag that only test has could not be learned
            if seen.issuperset(tags[row]):
                test.append(row)
            else:
                train.append(row)
                seen.update(tags[row])
        if not test:
            what = f"{name} has no test split and is too small to be divided"
            raise ZooError(f"{what}: it has {counted(len(tags), 'text')}")
        return sorted(train), test, f"by text, seed {seed}, {len(test)} of {len(tags)} for test"


def column_names(option: str) -> list[str]:
    """The columns that ``--text-column`` names: one, or a comma list."""
    return split_list(option, "--text-column ") or [option]


def joined_text(values: Mapping[str, Any], columns: Iterable[str]) -> str:
    """The texts in these columns, joined by a line end; those that are empty are left out.

    Raises ZooError where one is missing or not text, all are empty, or half a character is in it.
    """
    texts = []
    for column in columns:
        text = values.get(column)
        if not isinstance(text, str):
            what = "missing" if _is_missing(text) else f"not text but a {type(text).__name__}"
            raise ZooError(f"'{column}' is {what}")
        check_characters(f"'{column}'", text)
        if text.strip():
            texts.append(text)
    if not texts:
        names = [f"'{column}'" for column in columns]
        raise ZooError(f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} empty")
    return "\n".join(texts)


def _label(what: str, value: Any) -> str:
    """A label as text; ZooError for none, a fraction, or a list."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    if isinstance(value, str) and value.strip():
        check_characters(what, value)
        return value.strip()
    if _is_missing(value) or isinstance(value, str):
        raise ZooError(f"{what} is missing")
    raise ZooError(f"{what} must be text or a whole number, not {value!r:.40}")


def _tag(what: str, value: Any) -> str | None:
    """A tag as text; None for ``IGNORED``, also where that is written as text."""
    if value in (IGNORED, str(IGNORED)):
        return None
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ZooError(f"{what} has a tag that is no text and no whole number: {value!r:.40}")


def _list(what: str, value: Any) -> list[Any]:
    if hasattr(value, "tolist"):  # of a Parquet file
        value = value.tolist()
    if isinstance(value, list):
        return value
    shown = "missing" if _is_missing(value) else f"no list but a {type(value).__name__}"
    raise ZooError(f"{what} is {shown}")


def _is_missing(value: Any) -> bool:
    """Whether a cell is null or NaN."""
    return value is None or (isinstance(value, float) and value != value)


def _each(label: Any) -> list[str]:
    """The label of a text, or the tags of its tokens that count."""
    return [tag for tag in label if tag is not None] if isinstance(label, list) else [label]


def ordered(labels: Iterable[str]) -> tuple[list[str], bool]:
    """The different labels in order, and whether all are whole numbers, which go by their values.

    Labels are text as written: ``1`` and ``01`` are two.
    """
    different = sorted(set(labels))
    if are_numbers := all(re.fullmatch(r"-?\d{1,18}", label) for label in different):
        different.sort(key=int)
    return different, are_numbers


def spellings(name: str, labels: Iterable[str]) -> list[str]:
    """An error for labels that differ in case or spaces only, with their numbers of texts."""
    alike: dict[str, list[str]] = {}
    for label, count in Counter(labels).most_common():
        alike.setdefault(plain_words(label).replace(" ", ""), []).append(f"'{label}' ({count})")
    several = [" and ".join(kinds) for kinds in alike.values() if len(kinds) > 1]
    if not several:
        return []
    return [f"{name}: labels that differ in case or spaces only: {'; '.join(several)}"]


def usual_columns(file: Path, width: int) -> tuple[int, int]:
    """The indices of the tokens and the tags in a CoNLL file with so many columns."""
    is_universal = data_suffix(file) == ".conllu" and width == len(CONLLU)
    return (CONLLU.index("FORM"), CONLLU.index("UPOS")) if is_universal else (0, width - 1)


def _conll_column(where: str, width: int, asked: str, default: str, usual: int) -> int:
    """The index of a CoNLL column; ``asked`` is its number, or the name that stands for none."""
    if asked == default:
        return usual
    named = CONLLU if width == len(CONLLU) else []
    if asked.upper() in named:
        return named.index(asked.upper())
    if not asked.isdecimal() or not 1 <= int(asked) <= width:
        names = f", or {', '.join(named)}" if named else ""
        raise ZooError(
            f"{where}: --{default}-column {asked}: the columns of a CoNLL file are the numbers "
            f"1 to {width}{names}"
        )
    return int(asked) - 1


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
