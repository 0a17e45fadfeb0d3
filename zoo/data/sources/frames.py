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
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from itertools import dropwhile, groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from zoo.config.reading import DELIMITERS, TABLES_ONLY, Reading, given_flags
from zoo.data.sources.corpus import SPLITS, TRAIN, VALIDATION
from zoo.errors import ZooError, counted, listed, one_line

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
CONLL_ONLY = (".conll", ".conllu")
CONLL = (*CONLL_ONLY, ".txt", ".tsv")
PIPE = "-"  # stdin, given as a file
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")  # pandas unpacks them
UNREADABLE = (
    *(OSError, EOFError, RuntimeError, ValueError, ImportError, NotImplementedError),
    *(lzma.LZMAError, zlib.error, zipfile.BadZipFile),
)
UTF8 = "utf-8-sig"  # a byte order mark is no part of the text
# The columns of files that name none.
TEXT, LABEL, TOKENS, TAGS = "text", "label", "tokens", "tags"
# What files, folders and splits of the Hub are called.
SPLIT_NAMES = {
    **{name: name for name in SPLITS},
    **dict.fromkeys(("valid", "val", "dev"), VALIDATION),
}
SHARD = r"(-\d+-of-\d+)?"
# Also a name that ends in that of a split, as 20news-bydate-train does.
OF_SPLIT = re.compile(rf"(?:.*[-_. ])?({'|'.join(SPLIT_NAMES)}){SHARD}", re.IGNORECASE)
CONLLU = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split()
CONLLU_ID = re.compile(r"\d+([-.]\d+)?")  # with a second number: words together, or an omitted one
DOCUMENT, COMMENT = "-DOCSTART-", "# "


class Table(NamedTuple):
    """The rows of a file that can be read, and what is wrong with the others, by their places.

    source: what an error calls the file. A cell without a value is None.
    """

    source: str
    frame: pd.DataFrame
    bad: Mapping[str, str]

    @classmethod
    def of(cls, source: str, rows: Mapping[str, Any], columns: Any = None) -> Self:
        """The table of rows by their places; a ZooError in place of a row says what is wrong."""
        import pandas as pd

        bad = {place: str(row) for place, row in rows.items() if isinstance(row, ZooError)}
        good = {place: row for place, row in rows.items() if place not in bad}
        frame = pd.DataFrame([*good.values()], index=[*good], columns=columns, dtype=object)
        for column in frame.columns[frame.columns.duplicated()]:
            raise ZooError(f"{source} has two columns '{column}'")
        return cls(source, frame.where(frame.notna(), None), bad)


def data_suffix(file: Path) -> str:
    """The ending that says what is in a file, in lower case: ``.csv`` of ``a.csv.gz``."""
    return PurePath(_unpacked_name(file)).suffix.lower()


def _unpacked_name(file: Path) -> str:
    return file.stem if file.suffix.lower() in PACKED else file.name


def read_bytes(file: Path) -> bytes:
    """All bytes of a file, unpacked; ZooError where it cannot be read."""
    from pandas.io.common import get_handle  # type: ignore[import-not-found]

    try:
        with get_handle(str(file), "rb", compression="infer", is_text=False) as opened:
            content: bytes = opened.handle.read()
            return content
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        raise ZooError(f"{file} cannot be read: {reason}") from error


def decode(name: str, content: bytes, encoding: str = "") -> str:
    """The text of bytes in UTF-8, in UTF-16 with a byte order mark, or in a given encoding.

    Raises ZooError, naming byte and line, for another encoding; it names the likely one.
    """
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    used = encoding or ("utf-16" if wide else "utf-8")
    used = UTF8 if codecs.lookup(used).name == "utf-8" else used
    try:
        text = content.decode(used)
    except UnicodeDecodeError as error:
        number = 1 + content.count(b"\n", 0, error.start)
        what = f"byte 0x{content[error.start]:02x} in line {number}"
        shown = "UTF-8" if used == UTF8 else used
        likely = "" if encoding else _likely_encoding(content)
        raise ZooError(f"{name} is not {shown}: {what}{likely}") from error
    if "\0" in text and not encoding:
        number = 1 + text.partition("\0")[0].count("\n")
        raise ZooError(f"{name} holds a NUL byte in line {number}: it is damaged, or no text")
    return text


def _likely_encoding(content: bytes) -> str:
    """A hint at the option that may read these bytes."""
    import charset_normalizer

    lines = [line for line in io.BytesIO(content) if not line.isascii()]
    best = charset_normalizer.from_bytes(b"".join(lines)[: 1 << 16]).best()
    return f"; if it is {best.encoding}, say --encoding {best.encoding}" if best else ""


def read_text(file: Path, encoding: str = "") -> str:
    """A whole file as text; ZooError as of ``read_bytes`` and ``decode``."""
    return decode(str(file), read_bytes(file), encoding)


def lines_of(text: str) -> dict[str, str]:
    """The lines of a text by their places; after the last newline there is none."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return {f"line {n}": line.removesuffix("\r") for n, line in enumerate(lines, start=1)}


def read_lines(file: Path, encoding: str = "") -> Table:
    """A row with ``text`` for every line of a file or, for ``-``, of stdin."""
    content = sys.stdin.buffer.read() if str(file) == PIPE else read_bytes(file)
    source = "stdin" if str(file) == PIPE else file.name
    lines = lines_of(decode(source, content, encoding))
    return Table.of(source, {place: {TEXT: line} for place, line in lines.items()})


def read_table(file: Path, reading: Reading, source: str = "") -> Table:
    """The rows of a CSV, TSV, JSON, JSON lines or Parquet file.

    Every cell of CSV and TSV is text. source: what an error calls the file, if not by its name.
    Raises ZooError where the file as a whole cannot be read, or an option is not for its format.
    """
    source = source or file.name
    form = FORMATS.get(data_suffix(file)) if reading.file_format == "auto" else reading.file_format
    if form is None:
        known = ", ".join(FORMATS)
        raise ZooError(f"{file} is of no format the zoo reads ({known}); --file-format names one")
    others = () if form in SEPARATORS else TABLES_ONLY
    others = ("encoding", *others) if form == "parquet" else others
    if unused := [flag for name, flag in given_flags(reading).items() if name in others]:
        raise ZooError(f"{listed(unused)}: for tables of text, and {file} is {form}")
    content = read_bytes(file)
    if form == "parquet":
        from pyarrow import parquet

        try:
            rows = parquet.read_table(io.BytesIO(content)).to_pylist()
        except UNREADABLE as error:
            raise ZooError(f"{source} cannot be read: {one_line(error)}") from error
        return Table.of(source, {f"row {n}": row for n, row in enumerate(rows, start=1)})
    text = decode(source, content, reading.encoding)
    if form not in SEPARATORS:
        return _json_table(source, text)
    delimiter = DELIMITERS.get(reading.delimiter, reading.delimiter) or SEPARATORS[form]
    return delimited(source, text, delimiter, header=reading.header, quotes=reading.quotes)


def delimited(
    source: str, text: str, delimiter: str, *, header: bool = True, quotes: bool = True
) -> Table:
    """The rows of a table of text, without empty lines; a row that is too short has empty cells.

    Read by csv and not by pandas, which tells no lines and mends rows in silence. header: the first
    line names the columns; otherwise their names are the numbers from 1.
    """
    csv.field_size_limit(2**31 - 1)
    lines = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        strict=True,
    )
    rows: dict[str, Any] = {}
    end = 0
    try:
        for fields in lines:
            if fields:
                rows[f"line {end + 1}"] = fields
            end = lines.line_num
    except csv.Error as error:
        problem = f"{source}, line {end + 1}: a quoted field is broken ({error})"
        hint = "if quotes are plain characters in this file, say --no-quotes"
        raise ZooError(f"{problem}; {hint}") from error
    first, names = next(iter(rows.items()), ("", []))
    columns = [str(number) for number in range(1, len(names) + 1)]
    where = "its first line"
    if header and rows:
        del rows[first]
        where = "its header"
        columns = [name.strip() or column for name, column in zip(names, columns, strict=True)]
    for place, fields in rows.items():
        if any(cell.strip() for cell in fields[len(columns) :]):
            rows[place] = ZooError(f"{len(fields)} fields, where {where} has {len(columns)}")
        else:
            rows[place] = [*fields, *[""] * len(columns)][: len(columns)]
    return Table.of(source, rows, columns)


def _json_table(source: str, text: str) -> Table:
    """The rows of JSON lines, or of one JSON array of objects."""
    rows: dict[str, Any] = {}
    broken = (ValueError, RecursionError)
    if text.lstrip().startswith("["):
        try:
            rows = {f"row {n}": value for n, value in enumerate(json.loads(text), start=1)}
        except broken as error:
            raise ZooError(f"{source} is broken JSON: {error}") from error
    else:
        for place, line in lines_of(text).items():
            try:
                if line.strip():
                    rows[place] = json.loads(line)
            except broken as error:
                rows[place] = ZooError(f"broken JSON: {getattr(error, 'msg', error)}")
    for place, value in rows.items():
        if not isinstance(value, dict | ZooError):
            rows[place] = ZooError(f"no object but a {type(value).__name__}")
    return Table.of(source, rows)


def read_conll(file: Path, encoding: str = "") -> Table:
    """The texts of a file of CoNLL columns: a row of lists of fields for every text.

    A token stands in every line, and a blank line between two texts; columns are divided at tabs
    where the first token's line has one, or at spaces. Their names are the numbers from 1;
    ``tokens`` is the first of them and ``tags`` the last. Of ten columns that begin with the number
    of a word the names are those of CoNLL-U, and ``tokens`` and ``tags`` are FORM and UPOS.
    Sources: Tjong Kim Sang and De Meulder, CoNLL-2003, section 2 (``-DOCSTART-`` lines are
    skipped); the CoNLL-U format of Universal Dependencies (only the lines of words are read).

    A comment begins with ``# `` and stands before the first token of a text. A line ``# O`` there
    is the token ``#`` if it has as many columns as a token, and its last is also that of another.
    """
    texts = lines_of(read_text(file, encoding))
    tokens = [t for t in texts.values() if t.strip() and not t.startswith((COMMENT, DOCUMENT))]
    if not tokens:
        return Table.of(file.name, {})
    divider = "\t" if "\t" in tokens[0] else None
    lines = [
        (place, text, [field.strip() for field in text.split(divider)])
        for place, text in texts.items()
        if not text.startswith(DOCUMENT)
    ]
    first, _, start = next(line for line in lines if line[1] == tokens[0])
    width, is_universal = len(start), bool(CONLLU_ID.fullmatch(start[0]))
    is_universal = is_universal and width == len(CONLLU)
    columns = CONLLU if is_universal else [str(number) for number in range(1, width + 1)]
    last_fields = {text.split(divider)[-1].strip() for text in tokens}

    def is_comment(line: tuple[str, str, list[str]]) -> bool:
        is_token = len(line[2]) == width and line[2][-1] in last_fields
        return line[1].startswith(COMMENT) and not is_token

    rows: dict[str, Any] = {}
    for is_blank, block in groupby(lines, key=lambda line: not line[1].strip()):
        words = [] if is_blank else [*dropwhile(is_comment, block)]
        if is_universal:
            words = [line for line in words if not set("-.") & set(line[2][0])]
        if odd := next((line for line in words if len(line[2]) != width), None):
            here, there = (counted(n, "column") for n in (len(odd[2]), width))
            shown = f"{odd[1].strip()!r:.40}"
            rows[odd[0]] = ZooError(f"{here}, where {first} has {there}: {shown}")
        elif words:
            rows[words[0][0]] = [[*column] for column in zip(*(w[2] for w in words), strict=True)]
    table = Table.of(file.name, rows, columns)
    usual = {TOKENS: columns[0], **({TAGS: columns[-1]} if width > 1 else {})}
    usual = {TOKENS: "FORM", TAGS: "UPOS"} if is_universal else usual
    frame = table.frame.assign(**{name: table.frame[column] for name, column in usual.items()})
    return table._replace(frame=frame)


def split_files(path: Path, formats: Sequence[str], *, folders: bool) -> dict[str, list[Path]]:
    """The files of each split of a directory; a file alone is for training.

    A directory holds a file of these formats for each split, told by its name, which may be in
    shards (``train-00000-of-00002``). With folders it may hold a folder of text files for every
    class instead, as 20 Newsgroups and the IMDb reviews come, in one directory or in one for each
    split: ``train/sport/one.txt``. The directory that holds the folders of the classes then stands
    for the files of a split. Raises ZooError where no split is there, or one is there twice.
    """
    if not path.is_dir():
        return {TRAIN: [path]}
    entries = sorted(e for e in path.iterdir() if not e.name.startswith((".", "__")))
    files = [entry for entry in entries if entry.is_file()]
    splits = _by_split([file for file in files if data_suffix(file) in formats])
    if folders and not splits:
        inner = [e for e in entries if e.is_dir() and any(map(Path.is_file, e.rglob("*")))]
        splits = _by_split([folder for folder in inner if any(map(Path.is_dir, folder.iterdir()))])
        if not splits and len(inner) > 1:
            splits = {TRAIN: [path]}
    for split, parts in splits.items():
        if len({re.sub(f"{SHARD}[.]", ".", part.name) for part in parts}) > 1:
            names = " and ".join(part.name for part in parts)
            raise ZooError(f"{path} has two files or folders for the {split} split: {names}")
    if not splits:
        there = ", ".join(file.name for file in files[:8]) or "no data file"
        no_folder = " and no folder for every class" if folders else ""
        endings = ", train".join(formats)
        raise ZooError(f"{path} has no train file (train{endings}){no_folder}; there is: {there}")
    return splits


def _by_split(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """The files or folders whose name is that of a split, by split."""
    splits: dict[str, list[Path]] = {}
    for path in paths:
        stem = path.name if path.is_dir() else PurePath(_unpacked_name(path)).stem
        if match := OF_SPLIT.fullmatch(stem):
            splits.setdefault(SPLIT_NAMES[match[1].lower()], []).append(path)
    return {split: splits[split] for split in SPLITS if split in splits}


def read_folder(directory: Path, encoding: str = "") -> Table:
    """A row with ``text`` and ``label`` for every file that is not hidden.

    The label is the folder in the directory that the file is in, at whatever depth.
    """
    rows: dict[str, Any] = {}
    for file in sorted(directory.rglob("*")):
        place = file.relative_to(directory)
        if file.is_file() and not any(part.startswith((".", "__")) for part in place.parts):
            rows[place.as_posix()] = {TEXT: read_text(file, encoding), LABEL: place.parts[0]}
    return Table.of(directory.name, rows)
