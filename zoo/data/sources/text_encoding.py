"""The encoding of text files: UTF-8, what a byte order mark says, what is asked for, or a guess."""

from __future__ import annotations

import codecs
import contextlib
import io
import string
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from zoo.data.sources.data_file import DataFile, explained, opened
from zoo.errors import ZooError

UTF8 = "utf-8-sig"  # a byte order mark is no part of the text
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
BLOCK = 1 << 16  # bytes read at once
SAMPLE = 1 << 16  # bytes from which an encoding is guessed
LETTERS = string.ascii_letters + string.digits
WESTERN = "cp1252"  # also reads what is latin-1


def encoding_of(file: DataFile, given: str, notices: list[str]) -> str:
    """The encoding to read a file with: the given one, UTF-8, or a guess, which is a notice.

    Raises ZooError where the file cannot be read or no encoding fits it.
    """
    if given:
        return without_mark(given)
    with explained(file):
        with opened(file) as stream:
            head = stream.read(4)
        if marked := next((name for mark, name in MARKS.items() if head.startswith(mark)), ""):
            return marked
        wrong = first_wrong_byte(file, UTF8)
        if not wrong:
            return UTF8
        guessed = guess_encoding([file])
    if not guessed:
        raise ZooError(
            f"{file} is not UTF-8: {wrong}; no other encoding can be guessed: name its --encoding"
        )
    notices.append(
        f"{file} is not UTF-8 ({wrong}): read as {guessed}, which is a guess; "
        "--encoding NAME reads it otherwise"
    )
    return guessed


def first_wrong_byte(file: DataFile, encoding: str) -> str:
    """The first byte that is not in this encoding, with its line; empty where all are.

    A zero byte is no part of a text in UTF-8.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    lines = 1
    with opened(file) as stream:
        while True:
            block = stream.read(BLOCK)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line = lines + error.object[: error.start].count(b"\n")
                return f"byte 0x{error.object[error.start]:02x} in line {line}"
            if encoding == UTF8 and (place := text.find("\0")) >= 0:
                return f"byte 0x00 in line {lines + text.count(chr(10), 0, place)}"
            lines += text.count("\n")
            if not block:
                return ""


def text_lines(name: str, file: DataFile | None, encoding: str = UTF8) -> Iterator[str]:
    """The lines of a file, or of stdin for None, with their ends, read as they are asked for.

    Only a newline ends a line. Raises ZooError where it cannot be read or, with the line's number,
    is not in this encoding.
    """
    number = 0
    stdin = contextlib.nullcontext(sys.stdin.buffer)
    with explained(name):
        source: contextlib.AbstractContextManager[BinaryIO] = opened(file) if file else stdin
        with source as stream:
            try:
                # In these a newline is more than one byte, and the file is decoded as a whole.
                if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
                    yield from io.TextIOWrapper(stream, encoding, newline="\n")
                    return
                for number, line in enumerate(stream, start=1):
                    yield line.decode("utf-8" if encoding == UTF8 and number > 1 else encoding)
            except UnicodeDecodeError as error:
                place = f" in line {number}" if number else ""
                shown = "UTF-8" if encoding == UTF8 else encoding
                raise ZooError(
                    f"{name} is not {shown}: byte 0x{error.object[error.start]:02x}{place}"
                ) from error


def without_end(line: str) -> str:
    """A line without the newline, and carriage return, that end it."""
    return line.removesuffix("\n").removesuffix("\r")


def read_text(file: DataFile, given: str, notices: list[str]) -> str:
    """A whole file as text; given: its encoding, as in ``encoding_of``, which says the rest."""
    return "".join(text_lines(str(file), file, encoding_of(file, given, notices)))


def without_mark(given: str) -> str:
    """A given encoding, or UTF-8 for none, such that a byte order mark is no part of the text."""
    return UTF8 if not given or codecs.lookup(given).name == "utf-8" else given


def guess_encoding(files: Sequence[DataFile]) -> str:
    """The likeliest encoding that reads all of these files, which are not UTF-8; empty if none.

    There is none where more lines are UTF-8 than are not: such a file is damaged.
    """
    import charset_normalizer

    # Lines of ASCII alone are the same in most encodings and would only hide the others.
    telling, in_utf8, others = bytearray(), 0, 0
    for file in files:
        with opened(file) as stream:
            for line in stream:
                if not line.isascii() or b"\0" in line:
                    telling += line[: max(0, SAMPLE - len(telling))]
                    others += not _is_utf8(line)
                    in_utf8 += _is_utf8(line)
    if in_utf8 > others:
        return ""
    found = list(charset_normalizer.from_bytes(bytes(telling)))
    names = [one.encoding for one in found]
    # Between encodings of one script, most of whose letters are the same, it cannot decide.
    likeliest = [one for one in found if one.chaos <= found[0].chaos]
    if any(WESTERN in one.could_be_from_charset for one in likeliest):
        names = [WESTERN, "latin-1", *names]
    wide = b"\0" in telling  # as ASCII letters are in UTF-16, and in nothing else
    names = [name for name in names if (_ascii_in(name) != LETTERS) == wide]
    fitting = (n for n in names if not any(first_wrong_byte(file, n) for file in files))
    return next(fitting, "")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in line


def _ascii_in(encoding: str) -> str:
    """What an encoding makes of the bytes of letters and digits in ASCII."""
    return LETTERS.encode().decode(encoding, errors="replace")
