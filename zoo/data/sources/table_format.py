"""The format of a file of rows: as it is given, or told by its ending, or by what is in it."""

from __future__ import annotations

import itertools

from zoo.config.reading import DELIMITERS, Reading
from zoo.data.sources.data_file import DataFile, data_suffix, explained, opened
from zoo.data.sources.delimited import common_delimiter
from zoo.data.sources.text_encoding import MARKS, encoding_of, text_lines
from zoo.errors import ZooError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
FORMATS = (*SEPARATORS, *JSON_LINES, ".json", ".parquet")
CSV, LABEL_TEXT = "csv", "label-text"
PREFIX = "__label__"  # of the labels in files of fastText
SAMPLE = 100  # lines by which the format of a file is told


def format_of(file: DataFile, reading: Reading, notices: list[str]) -> tuple[str, str]:
    """The format, as ``--file-format`` names it, and what divides the columns of a table.

    What is guessed is added to the notices. Raises ZooError where nothing tells the format.
    """
    suffix = data_suffix(file)
    given = DELIMITERS.get(reading.delimiter, reading.delimiter)
    form: str = reading.file_format
    if form == "auto" and suffix in FORMATS:
        form = "jsonl" if suffix in JSON_LINES else suffix[1:]
    elif form == "auto" and given:
        form = CSV
    if form == "auto":
        return _by_content(file, reading, notices)
    usual = SEPARATORS.get(f".{form}", "")
    if given or form != CSV or reading.file_format == CSV:
        return form, given or usual
    lines = _first_lines(file, reading)
    common = common_delimiter(lines)
    if not lines or usual in lines[0] or not common:
        return form, usual
    _guessed(notices, file, f"columns divided by {_word(common)}", "--delimiter")
    return form, common


def _by_content(file: DataFile, reading: Reading, notices: list[str]) -> tuple[str, str]:
    unknown = ZooError(
        f"{file} is of no format the zoo reads ({', '.join(FORMATS)}), by its ending or what is in "
        "it; --file-format or --delimiter says how to read it"
    )
    with explained(file), opened(file) as stream:
        head = stream.read(1000)
    if b"\0" in head and not reading.encoding and not head.startswith(tuple(MARKS)):
        raise unknown  # not text
    lines = [line for line in _first_lines(file, reading) if line.strip()]
    if lines and lines[0].lstrip()[0] in "[{":
        _guessed(notices, file, "JSON", "--file-format")
        return "json", ""
    if common := common_delimiter(lines):
        _guessed(notices, file, f"a table with columns divided by {_word(common)}", "--delimiter")
        return CSV, common
    if _begin_with_labels(lines):
        what = "a label, the first word, and a text in every line"
        _guessed(notices, file, what, "--file-format")
        return LABEL_TEXT, ""
    raise unknown


def _first_lines(file: DataFile, reading: Reading) -> list[str]:
    encoding = encoding_of(file, reading.encoding, [])
    return list(itertools.islice(text_lines(str(file), file, encoding), SAMPLE))


def _guessed(notices: list[str], file: DataFile, what: str, option: str) -> None:
    notices.append(f"{file} is read as {what}, which is a guess; {option} reads it otherwise")


def _word(delimiter: str) -> str:
    return next(word for word, character in DELIMITERS.items() if character == delimiter)


def _begin_with_labels(lines: list[str]) -> bool:
    """Whether the first word of every line looks like a label.

    It does where all are ``__label__X`` or ``X:Y``, or where there are at most a quarter as many
    different ones as lines.
    """
    words = [line.split(maxsplit=1) for line in lines]
    if not words or any(len(both) < 2 for both in words):
        return False
    first = [label for label, _ in words]
    marked = all(label.startswith(PREFIX) or ":" in label.strip(":") for label in first)
    return marked or len(set(first)) <= len(first) / 4
