"""Files as frames with a row for each text; the index says where a row stands (``line 3``).

The ending of a name, before that of a compression, says the format; or the options do.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import dropwhile, groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from zoo.config.reading import DELIMITERS, Reading, TextReading, given_flags
from zoo.data.sources.corpus import TEST, TRAIN, VALIDATION
from zoo.errors import DataError, ZooError, counted, listed, one_line

if TYPE_CHECKING:
    import pandas as pd

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
}
SEPARATORS = {"csv": ",", "tsv": "\t"}
CONLL = (".conll", ".conllu", ".txt", ".tsv")
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")  # pandas unpacks them
UTF8 = "utf-8-sig"  # a byte order mark is no part of the text
TEXT, LABEL = "text", "label"  # columns of a folder of texts
# What files, folders and splits are called.
NAMES = {TRAIN: (TRAIN,), TEST: (TEST,), VALIDATION: (VALIDATION, "valid", "val", "dev")}
# Of CoNLL-U, whose name may stand for a column of ten.
CONLLU = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split()
DOCUMENT, COMMENT = "-DOCSTART-", "# "
SEVERAL = re.compile(r"\d+[-.]\d+")  # in CoNLL-U, of words together or of one that was left out
EXAMPLES = 5  # rows with one problem that are named

Bad = dict[str, str]  # what is wrong with a row, by its place


class Table(NamedTuple):
    """The rows of a file that can be read, and what is wrong with the others.

    source: what an error calls the file.
    """

    source: str
    frame: pd.DataFrame
    bad: Bad

    @classmethod
    def of(cls, source: str, rows: Mapping[str, Any], bad: Bad, columns: Any = None) -> Self:
        """The table of rows, by their places."""
        import pandas as pd

        frame = pd.DataFrame([*rows.values()], index=[*rows], columns=columns, dtype=object)
        return cls(source, frame, bad)


class Problems:
    """What is wrong with data, gathered so that all of it can be said at once."""

    def __init__(self, *, drop_bad_rows: bool = False) -> None:
        self.drop_bad_rows = drop_bad_rows
        self.notices: list[str] = []
        self.errors: list[str] = []

    def bad_rows(self, source: str, bad: Mapping[str, str], count: int) -> None:
        """Bad rows of so many become notices where they are left out, and errors otherwise."""
        places: dict[str, list[str]] = {}
        for place, what in bad.items():
            places.setdefault(what, []).append(place)
        lines = []
        for what, named in places.items():
            if len(named) == 1:
                lines.append(f"{source}, {named[0]}: {what}")
                continue
            shown = re.sub(r"^(line|row) ", r"\1s ", listed(named, EXAMPLES))
            shown = re.sub(r"(, | and )(?:line|row) ", r"\1", shown)
            lines.append(f"{source}: {what}, in {len(named)} of {count} rows ({shown})")
        if others := lines[EXAMPLES:]:
            lines = [*lines[:EXAMPLES], f"{source}: {len(others)} more problems in rows"]
        if self.drop_bad_rows:
            self.notices += [f"{line}; left out" for line in lines]
        elif lines:
            lines[-1] += "; --drop-bad-rows leaves such rows out"
            self.errors += lines

    def refuse(self) -> None:
        """DataError with all errors, if there are any."""
        if self.errors:
            raise DataError(list(dict.fromkeys(self.errors)))


def data_suffix(file: Path) -> str:
    """The ending that says what is in a file, in lower case: ``.csv`` of ``a.csv.gz``."""
    return PurePath(_unpacked_name(file)).suffix.lower()


def data_stem(file: Path) -> str:
    """The name without endings, in lower case: ``train`` of ``train.csv.gz``."""
    return PurePath(_unpacked_name(file)).stem.lower()


def _unpacked_name(file: Path) -> str:
    return file.stem if file.suffix.lower() in PACKED else file.name


def read_bytes(file: Path) -> bytes:
    """All bytes of a file, unpacked; ZooError where it cannot be read."""
    from pandas.io.common import get_handle  # type: ignore[import-not-found]

    unpacking = (EOFError, RuntimeError, ValueError, ImportError, lzma.LZMAError, zlib.error)
    try:
        with get_handle(str(file), "rb", compression="infer", is_text=False) as opened:
            content: bytes = opened.handle.read()
            return content
    except OSError as error:
        raise ZooError(f"{file} cannot be read: {error.strerror or error}") from error
    except (*unpacking, zipfile.BadZipFile) as error:
        raise ZooError(f"{file} cannot be unpacked: {one_line(error)}") from error


def decode(name: str, content: bytes, encoding: str = "", line: int = 1) -> str:
    """The text of bytes in UTF-8, in UTF-16 with a byte order mark, or in a given encoding.

    line: the number of the first. Raises ZooError, naming byte and line, for another encoding; it
    names the likely one.
    """
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    used = encoding or ("utf-16" if wide else UTF8)
    used = UTF8 if codecs.lookup(used).name == "utf-8" else used
    try:
        text = content.decode(used)
    except UnicodeDecodeError as error:
        number = line + content.count(b"\n", 0, error.start)
        what = f"byte 0x{content[error.start]:02x} in line {number}"
        shown = "UTF-8" if used == UTF8 else used
        likely = "" if encoding else _likely_encoding(content)
        raise ZooError(f"{name} is not {shown}: {what}{likely}") from error
    if "\0" in text and not encoding:
        number = line + text.partition("\0")[0].count("\n")
        raise ZooError(f"{name} holds a NUL byte in line {number}: it is damaged, or no text")
    return text


def _likely_encoding(content: bytes) -> str:
    """A hint at the option that may read these bytes."""
    import charset_normalizer

    lines = [line for line in io.BytesIO(content) if not line.isascii()]
    best = charset_normalizer.from_bytes(b"".join(lines)[: 1 << 16]).best()
    return f"; if it is {best.encoding}, say --encoding {best.encoding}" if best else ""


def read_text(file: Path, reading: TextReading) -> str:
    """A whole file as text; ZooError as of ``read_bytes`` and ``decode``."""
    return decode(str(file), read_bytes(file), reading.encoding)


def read_table(file: Path, reading: Reading, source: str = "") -> Table:
    """The rows of a CSV, TSV, JSON, JSON lines or Parquet file.

    Every cell of CSV and TSV is text. source: what an error calls the file, if not by its path.
    Raises ZooError where the file as a whole cannot be read.
    """
    source = source or str(file)
    form = FORMATS.get(data_suffix(file)) if reading.file_format == "auto" else reading.file_format
    if form is None:
        known = ", ".join(FORMATS)
        raise ZooError(f"{file} is of no format the zoo reads ({known}); --file-format names one")
    of_tables = given_flags(reading, besides=TextReading)
    of_tables.pop("file_format", None)
    if of_tables and form not in SEPARATORS:
        raise ZooError(f"{listed(of_tables.values())}: for tables of text, and {file} is {form}")
    content = read_bytes(file)
    if form == "parquet" and reading.encoding:
        raise ZooError(f"--encoding: for text, and {file} is parquet")
    if form == "parquet":
        return _parquet_table(source, content)
    text = decode(source, content, reading.encoding)
    if form in SEPARATORS:
        delimiter = DELIMITERS.get(reading.delimiter, reading.delimiter) or SEPARATORS[form]
        return delimited(source, text, delimiter, header=reading.header, quotes=reading.quotes)
    is_array = form == "json" and text.lstrip().startswith("[")
    return _json_table(source, text, is_array=is_array)


def _parquet_table(source: str, content: bytes) -> Table:
    import pandas as pd

    try:
        frame = pd.read_parquet(io.BytesIO(content)).astype(object)
    except (OSError, ValueError, NotImplementedError) as error:  # as pyarrow raises them
        raise ZooError(f"{source} cannot be read: {one_line(error)}") from error
    frame.index = pd.Index([f"row {number}" for number in range(1, len(frame) + 1)])
    return Table(source, frame, {})


def delimited(
    source: str, text: str, delimiter: str, *, header: bool = True, quotes: bool = True
) -> Table:
    """The rows of a table of text, without empty lines; a row that is too short has empty cells.

    Read by csv and not by pandas, which tells no lines and mends rows in silence. header: the first
    line names the columns; otherwise their names are the numbers from 1.
    """
    csv.field_size_limit(2**31 - 1)
    rows: dict[str, list[str]] = {}
    end = 0
    try:
        if quotes:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            for fields in reader:
                if fields:
                    rows[f"line {end + 1}"] = fields
                end = reader.line_num
        else:
            for number, line in enumerate(text.split("\n"), start=1):
                if line := line.removesuffix("\r"):
                    rows[f"line {number}"] = line.split(delimiter)
    except csv.Error as error:
        hint = "if quotes are plain characters in this file, say --no-quotes"
        problem = f"{source}, line {end + 1}: a quoted field is broken ({error})"
        raise ZooError(f"{problem}; {hint}") from error
    first, *_ = [*rows.values(), []]
    columns = [str(number) for number in range(1, len(first) + 1)]
    if header and rows:
        place, names = next(iter(rows.items()))
        columns = [name.strip() or column for name, column in zip(names, columns, strict=True)]
        del rows[place]
    bad: Bad = {}
    for place, fields in rows.items():
        if any(cell.strip() for cell in fields[len(columns) :]):
            where = "its header" if header else "its first line"
            bad[place] = f"{len(fields)} fields, where {where} has {len(columns)}"
        rows[place] = [*fields, *[""] * len(columns)][: len(columns)]
    return Table.of(source, {p: row for p, row in rows.items() if p not in bad}, bad, columns)


def _json_table(source: str, text: str, *, is_array: bool) -> Table:
    """The rows of JSON lines, or of one JSON array of objects."""
    values: dict[str, Any] = {}
    bad: Bad = {}
    try:
        if is_array:
            rows = enumerate(json.loads(text), start=1)
            values = {f"row {number}": row for number, row in rows}
    except (ValueError, RecursionError) as error:
        raise ZooError(f"{source} is {_broken_json(error)}") from error
    for number, line in enumerate(() if is_array else text.split("\n"), start=1):
        try:
            if line.strip():
                values[f"line {number}"] = json.loads(line)
        except (ValueError, RecursionError) as error:
            bad[f"line {number}"] = _broken_json(error, with_line=False)
    for place, value in values.items():
        if not isinstance(value, dict):
            bad[place] = f"no object but a {type(value).__name__}"
    return Table.of(source, {p: row for p, row in values.items() if p not in bad}, bad)


def _broken_json(error: ValueError | RecursionError, *, with_line: bool = True) -> str:
    if isinstance(error, json.JSONDecodeError):
        line = f"line {error.lineno}, " if with_line else ""
        return f"broken JSON in {line}column {error.colno}: {error.msg}"
    if isinstance(error, RecursionError):
        return "broken JSON: it is nested too deeply"
    return "broken JSON: a number is too long"  # Python reads none of more than 4,300 digits


def read_conll(
    file: Path,
    reading: TextReading,
    columns: Callable[[Path, str, int], Mapping[str, int]],
) -> Table:
    """The texts of a file of CoNLL columns: a row of lists of fields for every text.

    A token stands in every line, and a blank line between two texts; columns are divided at tabs,
    or at spaces where a line has no tab. Sources: Tjong Kim Sang and De Meulder, CoNLL-2003,
    section 2 (``-DOCSTART-`` lines are skipped); the CoNLL-U format of Universal Dependencies
    (comment lines are skipped, and only the lines of words are read).

    A comment begins with ``# `` and stands before the first token of a text. A line ``# O`` there
    is the token ``#`` if it has the file's number of columns, divided as there, its last column is
    also that of another line, and its third column is no ``=`` ("# text = O").

    columns: of the file, the place of its first text and its number of columns, the names of the
    columns to read and their indices.
    """
    lines = []
    for number, line in enumerate(read_text(file, reading).split("\n"), start=1):
        text = line.removesuffix("\r")
        fields = text.split("\t") if "\t" in text else text.split()
        if fields[:1] != [DOCUMENT]:
            lines.append((number, text, fields))
    tokens = [line for line in lines if line[1].strip() and not line[1].startswith(COMMENT)]
    if not tokens:
        return Table.of(str(file), {}, {})
    first, width = tokens[0], len(tokens[0][2])
    indices = columns(file, f"line {first[0]}", width)
    tags = {fields[-1].strip() for _, _, fields in tokens}

    def is_comment(line: tuple[int, str, list[str]]) -> bool:
        _, text, fields = line
        alike = ("\t" in text) == ("\t" in first[1]) and len(fields) == width
        is_token = alike and fields[2:3] != ["="] and fields[-1].strip() in tags
        return text.startswith(COMMENT) and not is_token

    rows: dict[str, dict[str, list[str]]] = {}
    bad: Bad = {}
    for is_blank, block in groupby(lines, key=lambda line: not line[1].strip()):
        words = [] if is_blank else [*dropwhile(is_comment, block)]
        if data_suffix(file) == ".conllu":
            words = [line for line in words if not SEVERAL.fullmatch(line[2][0])]
        odd = next((line for line in words if len(line[2]) != width), None)
        if odd:
            here = counted(len(odd[2]), "column")
            what = f"{here}, where line {first[0]} has {counted(width, 'column')}"
            bad[f"line {odd[0]}"] = f"{what}: {odd[1].strip()!r:.40}"
        elif words:
            rows[f"line {words[0][0]}"] = {
                name: [fields[index].strip() for _, _, fields in words]
                for name, index in indices.items()
            }
    return Table.of(str(file), rows, bad)


def split_files(path: Path, formats: Sequence[str], *, folders: bool) -> dict[str, list[Path]]:
    """The files of each split of a directory; a file alone is for training.

    A directory holds a file for each split, told by its name, which may be in shards
    (``train-00000-of-00002``). Files of these formats count; of others, such as ``train.txt``, only
    where no split is in one of these. With folders it may hold a folder of text files for every
    class instead, as 20 Newsgroups and the IMDb reviews come, in one directory or in one for each
    split: ``train/sport/one.txt``. The directory that holds the folders of the classes then stands
    for the files of a split. Raises ZooError where nothing is for training, or a split is there
    twice.
    """
    if not path.is_dir():
        return {TRAIN: [path]}
    entries = sorted(e for e in path.iterdir() if not e.name.startswith((".", "__")))
    files = [entry for entry in entries if entry.is_file()]
    known = [file for file in files if data_suffix(file) in formats]
    splits = next((s for s in map(_named, (known, files)) if TRAIN in s), {})
    for found in splits.values():
        if len({data_suffix(f) for f in found}) > 1 or len(found) > len(set(map(data_stem, found))):
            names = ", ".join(file.name for file in found)
            raise ZooError(f"{path} has two files for one split: {names}")
    if folders and not splits:
        splits = _class_folders(path, [entry for entry in entries if entry.is_dir()])
    if not splits:
        there = ", ".join(file.name for file in files[:8]) or "no data file"
        no_folder = " and no folder for every class" if folders else ""
        endings = ", train".join(formats)
        raise ZooError(f"{path} has no train file (train{endings}){no_folder}; there is: {there}")
    return splits


def _named(files: Sequence[Path]) -> dict[str, list[Path]]:
    """The files whose name is that of a split, by split."""
    splits: dict[str, list[Path]] = {}
    for split, name in ((split, name) for split, names in NAMES.items() for name in names):
        pattern = re.compile(rf"{name}(-\d+-of-\d+)?")
        if shards := [file for file in files if pattern.fullmatch(data_stem(file))]:
            splits.setdefault(split, shards)
    return splits


def _class_folders(directory: Path, folders: Sequence[Path]) -> dict[str, list[Path]]:
    """The directory that holds the folders of the classes, for each split."""
    splits: dict[str, list[Path]] = {}
    for split, names in NAMES.items():
        # A name that ends in that of a split, as 20news-bydate-train does.
        pattern = re.compile(rf"(.*[-_. ])?({'|'.join(names)})", re.IGNORECASE)
        if of_split := [f for f in folders if pattern.fullmatch(f.name) and _has_texts(f, "*/*")]:
            splits[split] = of_split
        if len(of_split) > 1:
            both = " and ".join(folder.name for folder in of_split)
            raise ZooError(f"{directory} has two directories for the {split} split: {both}")
    classes = [folder for folder in folders if _has_texts(folder, "*")]
    return splits if TRAIN in splits else {TRAIN: [directory]} if len(classes) > 1 else {}


def _has_texts(folder: Path, pattern: str) -> bool:
    return any(file.is_file() and not file.name.startswith(".") for file in folder.glob(pattern))


def read_folder(directory: Path, reading: TextReading, pattern: str = "*/*") -> Table:
    """A row with ``text`` and ``label``, its folder, for every file; hidden files are left out."""
    rows = {}
    for file in sorted(directory.glob(pattern)):
        place = file.relative_to(directory)
        if file.is_file() and not any(part.startswith((".", "__")) for part in place.parts):
            rows[place.as_posix()] = {TEXT: read_text(file, reading), LABEL: place.parts[0]}
    return Table.of(str(directory), rows, {})
