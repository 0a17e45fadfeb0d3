"""Files as tables with a row for each text, by the place where it stands (``line 3``).

The ending of a name, before that of a compression, says the format; or the options do.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile, groupby, zip_longest
from pathlib import Path, PurePath
from typing import Any, NamedTuple, Self

from zoo.config.reading import DELIMITERS, TABLES_ONLY, Reading, changed_flags
from zoo.data.sources.corpus import SPLITS, TRAIN, VALIDATION, seen
from zoo.errors import ZooError, counted, listed, one_line

FORMATS = {f".{name}": name for name in ("csv", "tsv", "jsonl", "json", "parquet")}
FORMATS[".ndjson"] = "jsonl"
SEPARATORS = {"csv": ",", "tsv": "\t"}
CONLL_ONLY = (".conll", ".conllu")
CONLL = (*CONLL_ONLY, ".txt", ".tsv")
PIPE = "-"  # stdin, given as a file
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")  # pandas unpacks them
UTF8 = "utf-8-sig"  # a byte order mark is no part of the text
# The columns of files that name none.
TEXT, LABEL, TOKENS, TAGS = "text", "label", "tokens", "tags"
# What files, folders and splits of the Hub are called.
SPLIT_NAMES = {
    **{name: name for name in SPLITS},
    **dict.fromkeys(("valid", "val", "dev"), VALIDATION),
}
SHARD = re.compile(r"-\d+-of-(\d+)")
# Also a name that ends in that of a split, as 20news-bydate-train does.
OF_SPLIT = re.compile(rf"(?:.*[-_. ])?({'|'.join(SPLIT_NAMES)})({SHARD.pattern})?", re.IGNORECASE)
CONLLU = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split()
CONLLU_ID = re.compile(r"\d+([-.]\d+)?")  # with a second number: words together, or an omitted one
DOCUMENT, COMMENT = "-DOCSTART-", "# "
UNLABELLED = ("unsup", "unsupervised", "unlabeled", "unlabelled")  # folders of texts without labels


class SourceTable(NamedTuple):
    """The rows of a file by their places: values by column, or what is wrong with a row.

    source: what an error calls the file. notices: lines for the user on how it was read.
    """

    source: str
    rows: Mapping[str, Mapping[str, Any] | ZooError]
    columns: Sequence[str]
    notices: Sequence[str] = ()

    @classmethod
    def of(cls, source: str, rows: Mapping[str, Any], *notices: str) -> Self:
        """The table of these rows, with every column that a row has."""
        columns = (column for row in rows.values() if isinstance(row, dict) for column in row)
        return cls(source, rows, list(dict.fromkeys(columns)), notices)


def refuse_twins(source: str, columns: Sequence[object]) -> None:
    """ZooError where two columns have one name, but for what nobody sees."""
    names = [seen(str(column)) for column in columns]
    if twice := [column for column, count in Counter(names).items() if count > 1]:
        raise ZooError(f"{source} has two columns '{twice[0]}'")


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
    except Exception as error:  # each compression has kinds of its own
        reason = getattr(error, "strerror", None) or one_line(error)
        raise ZooError(f"{file} cannot be read: {reason}") from error


def decode(name: str, content: bytes, encoding: str = "") -> str:
    """The text of bytes in UTF-8, in UTF-16 with a byte order mark, or in a given encoding.

    Raises ZooError, naming byte and line, for another encoding; it names the likely one.
    """
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    used = encoding or ("utf-16" if wide else "utf-8")
    used = UTF8 if codecs.lookup(used).name == "utf-8" else used
    if b"\0" in content and not (encoding or wide):
        number = 1 + content.partition(b"\0")[0].count(b"\n")
        raise ZooError(f"{name} holds a NUL byte in line {number}: it is damaged, or no text")
    try:
        return content.decode(used)
    except UnicodeDecodeError as error:
        number = 1 + content.count(b"\n", 0, error.start)
        what = f"byte 0x{content[error.start]:02x} in line {number}"
        shown = "UTF-8" if used == UTF8 else used
        likely = "" if encoding else _likely_encoding(content)
        raise ZooError(f"{name} is not {shown}: {what}{likely}") from error


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


def read_lines(file: Path, encoding: str = "") -> SourceTable:
    """A row with ``text`` for every line of a file or, for ``-``, of stdin."""
    content = sys.stdin.buffer.read() if str(file) == PIPE else read_bytes(file)
    source = "stdin" if str(file) == PIPE else file.name
    lines = lines_of(decode(source, content, encoding))
    return SourceTable.of(source, {place: {TEXT: line} for place, line in lines.items()})


def read_table(file: Path, reading: Reading) -> SourceTable:
    """The rows of a CSV, TSV, JSON, JSON lines or Parquet file.

    Every cell of CSV and TSV is text. Raises ZooError where the file as a whole cannot be read, or
    an option is not for its format.
    """
    source = file.name
    form = FORMATS.get(data_suffix(file)) if reading.file_format == "auto" else reading.file_format
    if form is None:
        known = ", ".join(FORMATS)
        raise ZooError(f"{file} is of no format the zoo reads ({known}); --file-format names one")
    others = () if form in SEPARATORS else TABLES_ONLY
    others = ("encoding", *others) if form == "parquet" else others
    if unused := [flag for name, flag in changed_flags(reading).items() if name in others]:
        raise ZooError(f"{listed(unused)}: for tables of text, and {file} is {form}")
    content = read_bytes(file)
    if form == "parquet":
        from pyarrow import parquet

        try:
            return numbered(source, parquet.read_table(io.BytesIO(content)).to_pylist())
        except Exception as error:  # pyarrow raises many kinds
            raise ZooError(f"{source} cannot be read: {one_line(error)}") from error
    text = decode(source, content, reading.encoding)
    if form not in SEPARATORS:
        return _json_table(source, text)
    delimiter = DELIMITERS.get(reading.delimiter, reading.delimiter) or SEPARATORS[form]
    how = {name: getattr(reading, name) for name in ("header", "quotes", "escape")}
    return delimited(source, text, delimiter, **how)


def numbered(source: str, rows: Iterable[Any]) -> SourceTable:
    """The table of rows that have no lines."""
    return SourceTable.of(source, {f"row {n}": row for n, row in enumerate(rows, start=1)})


def delimited(
    source: str,
    text: str,
    delimiter: str,
    *,
    header: bool = True,
    quotes: bool = True,
    escape: bool = False,
) -> SourceTable:
    """The rows of a table of text, without empty lines; a row that is too short has empty cells.

    Read by csv and not by pandas, which tells no lines and mends rows in silence. header: the first
    line names the columns; otherwise their names are the numbers from 1. escape: a backslash
    escapes a quote, a delimiter or another backslash, and is a plain character before any other.
    """
    csv.field_size_limit(2**31 - 1)
    if escape:
        escaped_by = rf'\\["\\{re.escape(delimiter)}]?'
        text = re.sub(escaped_by, lambda pair: pair[0] if len(pair[0]) > 1 else r"\\", text)
    lines = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        escapechar="\\" if escape else None,
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
        raise ZooError(f"{problem}; --no-quotes and --escape read other files") from error
    first, names = next(iter(rows.items()), ("", []))
    columns = [str(number) for number in range(1, len(names) + 1)]
    where = "its first line"
    if header and rows:
        del rows[first]
        where = "its header"
        columns = [seen(name) or column for name, column in zip(names, columns, strict=True)]
        refuse_twins(source, columns)
    for place, fields in rows.items():
        if any(cell.strip() for cell in fields[len(columns) :]):
            rows[place] = ZooError(f"{len(fields)} fields, where {where} has {len(columns)}")
        else:
            rows[place] = dict(zip_longest(columns, fields[: len(columns)], fillvalue=""))
    return SourceTable(source, rows, columns)


def _json_table(source: str, text: str) -> SourceTable:
    """The rows of JSON lines, or of one JSON array of objects."""
    rows: dict[str, Any] = {}
    broken = (ValueError, RecursionError)
    if text.lstrip().startswith("["):
        try:
            values = json.loads(text, object_pairs_hook=_object)
        except broken as error:
            raise ZooError(f"{source} is broken JSON: {error}") from error
        rows = {f"row {n}": value for n, value in enumerate(values, start=1)}
    else:
        for place, line in lines_of(text).items():
            try:
                if line.strip():
                    rows[place] = json.loads(line, object_pairs_hook=_object)
            except broken as error:
                rows[place] = ZooError(f"broken JSON: {getattr(error, 'msg', error)}")
    for place, value in rows.items():
        if not isinstance(value, dict | ZooError):
            rows[place] = ZooError(f"no object but a {type(value).__name__}")
    return SourceTable.of(source, rows)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; ValueError where a key is there twice."""
    if twice := [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]:
        raise ValueError(f"the key {twice[0]!r} is there twice")
    return dict(pairs)


def read_conll(file: Path, encoding: str = "") -> SourceTable:
    """The texts of a file of CoNLL columns: a row of lists of fields for every text.

    A token stands in every line, and a blank line between two texts; columns are divided at tabs
    where the first token's line has one, or at spaces. Their names are the numbers from 1;
    ``tokens`` is the first of them and ``tags`` the last. Of ten columns that begin with the number
    of a word the names are those of CoNLL-U, and ``tokens`` and ``tags`` are FORM and UPOS.
    Sources: Tjong Kim Sang and De Meulder, CoNLL-2003, section 2 (``-DOCSTART-`` lines are
    skipped); the CoNLL-U format of Universal Dependencies (only the lines of words are read, and so
    in a file of other columns where every line begins with such a number).

    A comment begins with ``# `` and stands before the first token of a text. A line ``# O`` there
    is the token ``#`` if it has as many columns as a token, and its last is also that of another.
    """
    lines = lines_of(read_text(file, encoding))
    lines = {place: line for place, line in lines.items() if not line.startswith(DOCUMENT)}
    tokens = {p: line for p, line in lines.items() if line.strip() and line[:2] != COMMENT}
    if not tokens:
        return SourceTable.of(file.name, {})
    first, start = next(iter(tokens.items()))
    divider = "\t" if "\t" in start else None

    def fields(line: str) -> list[str]:
        return [field.strip() for field in line.split(divider)]

    width = len(fields(start))
    is_universal = width == len(CONLLU) and CONLLU_ID.fullmatch(fields(start)[0])
    has_ids = is_universal or all(CONLLU_ID.fullmatch(fields(t)[0]) for t in tokens.values())
    columns = CONLLU if is_universal else [str(number) for number in range(1, width + 1)]
    first_words = 1 if has_ids and width > 2 else 0
    usual = {TOKENS: columns[first_words], **({TAGS: columns[-1]} if width > 1 else {})}
    usual = {TOKENS: "FORM", TAGS: "UPOS"} if is_universal else usual
    last_fields = {fields(line)[-1] for line in tokens.values()}

    def is_comment(word: tuple[str, list[str]]) -> bool:
        is_token = len(word[1]) == width and word[1][-1] in last_fields
        return lines[word[0]].startswith(COMMENT) and not is_token

    rows: dict[str, Any] = {}
    for is_blank, block in groupby(lines.items(), key=lambda item: not item[1].strip()):
        words = [] if is_blank else [(place, fields(line)) for place, line in block]
        words = list(dropwhile(is_comment, words))
        if has_ids:
            words = [word for word in words if not set("-.") & set(word[1][0])]
        if odd := next((place for place, own in words if len(own) != width), None):
            here, there = (counted(len(fields(line)), "column") for line in (lines[odd], start))
            shown = f"{lines[odd].strip()!r:.40}"
            rows[odd] = ZooError(f"{here}, where {first} has {there}: {shown}")
        elif words:
            lists = map(list, zip(*(own for _, own in words), strict=True))
            row = dict(zip(columns, lists, strict=True))
            rows[words[0][0]] = row | {name: row[column] for name, column in usual.items()}
    return SourceTable(file.name, rows, [*columns, *usual])


def split_files(path: Path, formats: Sequence[str], *, folders: bool) -> dict[str, list[Path]]:
    """The files of each split of a directory; a file alone is for training.

    A directory holds a file of these formats (none: any) for each split, told by its name, maybe in
    shards (``train-00000-of-00002``). With folders it may hold a folder of text files for every
    class instead, as 20 Newsgroups and the IMDb reviews come, in one directory or in one for each
    split: ``train/sport/one.txt``. The directory that holds the folders of the classes then stands
    for the files of a split. Raises ZooError where no split is there, or one is there twice.
    """
    if not path.is_dir():
        return {TRAIN: [path]}
    entries = sorted(e for e in path.iterdir() if not e.name.startswith((".", "__")))
    files = [entry for entry in entries if entry.is_file()]
    splits = _by_split([f for f in files if not formats or data_suffix(f) in formats])
    if folders and not splits:
        inner = [e for e in entries if e.is_dir() and any(map(Path.is_file, e.rglob("*")))]
        splits = _by_split([folder for folder in inner if any(map(Path.is_dir, folder.iterdir()))])
        if not splits and len(inner) > 1:
            splits = {TRAIN: [path]}
    for split, parts in splits.items():
        shards = {m[0]: int(m[1]) for part in parts if (m := SHARD.search(part.name))}
        if len(parts) != max([1, *shards.values()]) or len(shards) not in (0, len(parts)):
            names = listed(part.name for part in parts)
            raise ZooError(f"{path} has {names} for {split}: give one file, or every shard")
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


def read_folder(directory: Path, encoding: str = "", *, labelled: bool = True) -> SourceTable:
    """A row with ``text`` and ``label`` for every file that is not hidden.

    The label is the folder in the directory that the file is in, at whatever depth. labelled: files
    in no folder and in one without labels, as ``unsup`` of the IMDb reviews, are left out.
    """
    rows: dict[str, Any] = {}
    left_out = 0
    for file in sorted(directory.rglob("*")):
        place = file.relative_to(directory)
        label, *rest = place.parts
        if not file.is_file() or any(part.startswith((".", "__")) for part in place.parts):
            continue
        if labelled and (not rest or label.casefold() in UNLABELLED):
            left_out += 1
        else:
            rows[place.as_posix()] = {TEXT: read_text(file, encoding), LABEL: label}
    notice = f"{directory.name}: {counted(left_out, 'file')} left out, for there are no labels"
    return SourceTable.of(directory.name, rows, *[notice] * bool(left_out))
