"""The bytes and the text of a file: in an archive or not, compressed or not, in any encoding.

Text is UTF-8, what a byte order mark says, in the encoding that is asked for, or in a guessed one.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import mimetypes
import string
import sys
import tarfile
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO, cast

from zoo.config.reading import LINES, TextReading
from zoo.errors import ZooError, counted, one_line

DataFile = Path | zipfile.Path

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ENCRYPTED = 0x1  # a flag of a member of a zip: APPNOTE.TXT, 4.4.4
ASIDE = ("readme", "license", "licence", "__macosx", ".")  # what archives hold besides data
NO_TEXT = ("image/", "audio/", "video/", "application/octet-stream")
UTF8 = "utf-8-sig"  # a byte order mark is no part of the text
WIDE = ("utf-16", "utf-32")  # in these a newline is more than one byte
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
SAMPLE = 1 << 16  # bytes from which an encoding is guessed
MIB = 1 << 20
PATIENCE = 5.0  # seconds after which it is said that a pipe is waited for
USUAL = TextReading()
LETTERS = string.ascii_letters + string.digits
WESTERN = "cp1252"  # also reads what is latin-1


def data_suffix(file: DataFile) -> str:
    """The ending that says what is in a file, in lower case: ``.csv`` of ``a.csv.gz``."""
    return _suffix(_unpacked_name(file))


def data_stem(file: DataFile) -> str:
    """The name without endings, in lower case: ``train`` of ``train.csv.gz``."""
    return PurePath(_unpacked_name(file)).stem.lower()


def within(path: Path, reading: TextReading = USUAL) -> DataFile:
    """What is to be read of a path: of an archive the only file or folder in it, or its root.

    Raises ZooError for an archive that cannot be read or has nothing in it.
    """
    is_tar = data_suffix(path) == ".tar" or _suffix(path.name) == ".tgz"
    if path.is_dir() or not (is_tar or _suffix(path.name) == ".zip"):
        return path
    with explained(path):
        inside = zipfile.Path(_as_zip(path, reading) if is_tar else path)
        if any(member.flag_bits & ENCRYPTED for member in inside.root.infolist()):
            raise ZooError(f"{path} is encrypted: unpack it, and name what was in it")
        while True:
            members = [m for m in inside.iterdir() if not m.name.lower().startswith(ASIDE)]
            if not members:
                raise ZooError(f"{path} holds no data file")
            if len(members) > 1 or members[0].name.lower().startswith("train"):
                return members[0] if members[0].is_file() and len(members) == 1 else inside
            inside = members[0]
            if inside.is_file():
                return inside


def _as_zip(path: Path, reading: TextReading) -> zipfile.ZipFile:
    """A tar archive, packed or not, as a ZIP archive of its files, without its links.

    It is in a file without a name, since of a packed one no member can be read alone. A file that
    was added again is the last of its name. One that no longer fits into the limit, which is for
    all together, is there without its bytes, and ``opened`` refuses it. Raises ZooError where two
    files would have one name.
    """
    file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the archive is read
    left_out: dict[str, int] = {}
    left = reading.most_bytes
    with tarfile.open(path, errors="replace") as archive, zipfile.ZipFile(file, "w") as made:
        members: dict[str, tarfile.TarInfo] = {}
        for member in archive:
            name = zipfile.ZipInfo(_safe_name(member.name)).filename
            if not member.isfile() or not name:
                continue
            before = members.get(name, member).name
            if PurePosixPath(before) != PurePosixPath(member.name):
                raise ZooError(f"{path} has '{before}' and '{member.name}', both for '{name}'")
            members[name] = member

        def what_is_read_first(item: tuple[str, tarfile.TarInfo]) -> tuple[bool, int]:
            kind = mimetypes.guess_type(item[0])[0] or ""
            return kind.startswith(NO_TEXT), item[1].offset  # a packed file is read forwards

        for name, member in sorted(members.items(), key=what_is_read_first):
            content = archive.extractfile(member)
            if content is None or member.size > left:
                left_out[name] = member.size
                made.writestr(name, b"")
            else:
                left -= member.size
                made.writestr(name, content.read())
    found = zipfile.ZipFile(file)
    found.filename = str(path)
    for name, size in left_out.items():
        found.getinfo(name).file_size = size
    return found


def _safe_name(name: str) -> str:
    """A name in a tar archive that leads nowhere else, as GNU tar makes it when it unpacks.

    Without what comes before the last ``..`` in it, and without a slash at the beginning.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    while ".." in parts:
        del parts[: parts.index("..") + 1]
    return "/".join(parts)


@contextlib.contextmanager
def explained(file: DataFile) -> Iterator[None]:
    """Turns what goes wrong while a file is read into a ZooError that names it."""
    try:
        yield
    except (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, tarfile.TarError) as error:
        raise ZooError(f"{file} cannot be unpacked: {one_line(error)}") from error
    except OSError as error:
        raise ZooError(f"{file} cannot be read: {error.strerror or error}") from error


@contextlib.contextmanager
def opened(file: DataFile, reading: TextReading) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked while they are read; raises as ``explained`` does.

    Raises ZooError for a file of a tar archive that is beyond the limit. Where it is a pipe that
    nobody has written to and closed yet, this is said after a while.
    """
    says = f"waiting for what writes to {file} to be done; Ctrl-C stops the waiting"
    word = threading.Timer(PATIENCE, print, [says], {"file": sys.stderr, "flush": True})
    word.daemon = True
    if isinstance(file, zipfile.Path):
        its = file.root.getinfo(file.at)
        if its.compress_type == zipfile.ZIP_STORED and its.compress_size < its.file_size:
            if its.file_size > reading.most_bytes:
                raise too_large(str(file), its.file_size, reading, parts=1)
            raise too_large(str(file.root.filename), 0, reading, parts=1)
    with explained(file), contextlib.ExitStack() as closing:
        if not file.is_file():
            word.start()
            closing.callback(word.cancel)
        raw = closing.enter_context(file.open("rb"))
        unpack = OPENERS.get(_suffix(file.name))
        yield cast(BinaryIO, unpack(raw) if unpack else raw)


def read_bytes(file: DataFile, reading: TextReading = USUAL) -> bytes:
    """All bytes of a file, unpacked; ZooError where it cannot be read, or is packed and too large.

    How much a packed file or a pipe holds is not known before it is read: no more is read of it.
    """
    member = file if isinstance(file, zipfile.Path) else None
    with opened(file, reading) as stream:
        if not member and file.is_file() and _suffix(file.name) not in OPENERS:
            return stream.read()
        content = bytearray()
        while chunk := stream.read(MIB):
            content += chunk
            if len(content) > reading.most_bytes:
                whole = member.root.getinfo(member.at).file_size if member else 0
                raise too_large(str(file), whole, reading, parts=1)
    return bytes(content)


def too_large(where: str, found: int, reading: TextReading, parts: int = LINES) -> ZooError:
    """The error for what has so many bytes, with the option that allows it.

    found: 0 for more than is allowed. parts: as many of its kind fill the largest packed file.
    """
    most = f"{reading.size_limit / parts:g} MiB"
    if not found:
        return ZooError(f"{where} has more than {most}, the limit; a larger --size-limit allows it")
    size, needed = f"{found / MIB:.1f} MiB", -(-found * parts // MIB)
    return ZooError(f"{where} has {size}; the limit is {most}, and --size-limit {needed} allows it")


def refuse_long_lines(file: DataFile, content: bytes, reading: TextReading) -> None:
    """ZooError where a line of these bytes is longer than is allowed."""
    if len(content) <= reading.longest:
        return
    sizes = [*map(len, content.splitlines())]
    if (longest := max(sizes)) > reading.longest:
        raise too_large(f"{file}, line {1 + sizes.index(longest)}", longest, reading)


def read_text(
    file: DataFile, reading: TextReading = USUAL, notices: list[str] | None = None
) -> str:
    """A whole file as text; ZooError for too long a line, and the rest is as in ``decoded``."""
    content = read_bytes(file, reading)
    refuse_long_lines(file, content, reading)
    return decoded([(file, content)], reading.encoding, notices)[0]


def decoded(
    files: Sequence[tuple[DataFile, bytes]], given: str = "", notices: list[str] | None = None
) -> list[str]:
    """The text of each file, of its bytes.

    given: the encoding of all; empty: UTF-8 or what a byte order mark says, and one guess for all
    files that are neither, which is a notice. Raises ZooError, naming byte and line, for a file
    that is not in its encoding, and where none can be guessed.
    """
    texts, odd = list[str](), dict[int, str]()
    for number, (file, content) in enumerate(files):
        mark = next((name for mark, name in MARKS.items() if content.startswith(mark)), "")
        encoding = without_mark(given or mark)
        text, wrong = _decode(content, encoding)
        if wrong and (given or mark):
            raise _not_in(encoding, file, wrong)
        if not given and (place := text.find("\0")) >= 0:  # no part of a text
            if mark or content.count(0) < len(content) / 4:  # UTF-16, if it is UTF-8 too, has more
                raise holds_nul(file, text)
            wrong = f"byte 0x00 in line {1 + text.count(chr(10), 0, place)}"
        texts.append(text)
        if wrong:
            odd[number] = wrong
    if not odd:
        return texts
    first, wrong = next(iter(odd.items()))
    file = files[first][0]
    what = f"{len(odd)} files are not UTF-8, such as {file}"
    what = what if len(odd) > 1 else f"{file} is not UTF-8"
    guess = guess_encoding([files[number][1] for number in odd])
    if not guess and "\0" in texts[first]:
        raise holds_nul(file, texts[first])
    if not guess:
        none = "no other encoding can be guessed: name its --encoding"
        raise ZooError(f"{what}: {wrong}; {none}")
    for number in odd:
        texts[number] = _decode(files[number][1], guess)[0]
    if notices is not None:
        how = f"read as {guess}, which is a guess; --encoding NAME reads it otherwise"
        notices.append(f"{what} ({wrong}): {how}")
    return texts


def text_lines(file: DataFile, reading: TextReading, notices: list[str]) -> Iterator[str]:
    """The lines of a file with their ends, as they are asked for; the rest is as in ``decoded``."""
    given = reading.encoding
    plain = bool(given) and not codecs.lookup(given).name.startswith(WIDE)
    if not given and file.is_file():  # a pipe can be read only once
        with opened(file, reading) as stream:
            plain = all(_is_utf8(line) for line in limited_lines(str(file), stream, reading))
    if not plain:
        yield from io.StringIO(read_text(file, reading, notices), newline="\n")
        return
    with opened(file, reading) as stream:
        yield from decoded_lines(str(file), stream, reading)


def limited_lines(name: str, stream: BinaryIO, reading: TextReading) -> Iterator[bytes]:
    """Each line; ZooError for one that is longer than is allowed."""
    most = min(reading.longest, sys.maxsize - 1) + 1
    for number, line in enumerate(iter(lambda: stream.readline(most), b""), start=1):
        size = len(line)
        while size >= most and line and not line.endswith(b"\n") and size <= reading.most_bytes:
            size += len(line := stream.readline(most))
        if size >= most:
            whole = size if size <= reading.most_bytes else 0
            raise too_large(f"{name}, line {number}", whole, reading)
        yield line


def decoded_lines(name: str, stream: BinaryIO, reading: TextReading) -> Iterator[str]:
    """Each line as text, in UTF-8 or a given encoding; ZooError for one that is not."""
    encoding = without_mark(reading.encoding)
    for number, line in enumerate(limited_lines(name, stream, reading), start=1):
        its = "utf-8" if encoding == UTF8 and number > 1 else encoding
        text, wrong = _decode(line, its, number)
        if wrong:
            raise _not_in(encoding, name, wrong)
        if "\0" in text and not reading.encoding:
            raise holds_nul(name, text, number)
        yield text


def without_end(line: str) -> str:
    """A line without the newline, and carriage return, that end it."""
    return line.removesuffix("\n").removesuffix("\r")


def without_mark(given: str) -> str:
    """A given encoding, or UTF-8 for none, such that a byte order mark is no part of the text."""
    return UTF8 if not given or codecs.lookup(given).name == "utf-8" else given


def guess_encoding(contents: Sequence[bytes]) -> str:
    """The likeliest encoding that reads all of these, which are not UTF-8; empty if none does.

    There is none where more lines are UTF-8 than are not: such a file is damaged.
    """
    import charset_normalizer

    # Lines of ASCII alone are the same in most encodings and would only hide the others.
    lines = [line for content in contents for line in io.BytesIO(content)]
    telling = [line for line in lines if not line.isascii() or b"\0" in line]
    if 2 * sum(map(_is_utf8, telling)) > len(telling):
        return ""
    sample = b"".join(telling)[:SAMPLE]
    found = list(charset_normalizer.from_bytes(sample))
    names = [one.encoding for one in found]
    # Between encodings of one script, most of whose letters are the same, it cannot decide.
    likeliest = [one for one in found if one.chaos <= found[0].chaos]
    if any(WESTERN in one.could_be_from_charset for one in likeliest):
        names = [WESTERN, "latin-1", *names]
    wide = b"\0" in sample  # as ASCII letters are in UTF-16, and in nothing else
    ascii_letters = LETTERS.encode()
    names = [n for n in names if (ascii_letters.decode(n, errors="replace") != LETTERS) == wide]
    fitting = (n for n in names if not any(_decode(content, n)[1] for content in contents))
    return next(fitting, "")


def _decode(content: bytes, encoding: str, line: int = 1) -> tuple[str, str]:
    """The text, or the first byte that is not in this encoding. line: the number of the first."""
    try:
        return content.decode(encoding), ""
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode(encoding, errors="replace")
        byte = error.object[error.start]
        return "", f"byte 0x{byte:02x} in line {line + before.count(chr(10))}"


def holds_nul(file: DataFile | str, text: str, line: int = 1) -> ZooError:
    """The error for a text with NUL bytes. line: the number of its first."""
    count, first = text.count("\0"), line + text.partition("\0")[0].count("\n")
    are = f"{counted(count, 'NUL byte')}, {'the first ' * (count > 1)}in line {first}"
    return ZooError(f"{file} holds {are}: it is damaged, or no text")


def _not_in(encoding: str, file: DataFile | str, wrong: str) -> ZooError:
    return ZooError(f"{file} is not {'UTF-8' if encoding == UTF8 else encoding}: {wrong}")


def _is_utf8(line: bytes) -> bool:
    return b"\0" not in line and not _decode(line, "utf-8")[1]


def _unpacked_name(file: DataFile) -> str:
    """The name of a file without the ending that says how it is compressed."""
    suffix = _suffix(file.name)
    return file.name[: -len(suffix)] if suffix in OPENERS else file.name


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()
