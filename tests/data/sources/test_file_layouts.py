"""Files are read as they come: AG News, SMS spam, TREC, folders, packed, in any encoding."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import read, rows, texts_of
from refused import refused

from zoo.config.reading import Reading, TextReading
from zoo.data.sources.load_data import read_texts
from zoo.data.sources.text_file import read_text

quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)


SPLITS = ("train", "test")


def write_archive(path: Path, members: dict[str, str]) -> None:
    """An archive of the kind that its name says, a tar with names as ``tar -c .`` gives them."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
    else:
        write_tar(path, *((f"./{name}", content.encode()) for name, content in members.items()))


def write_folders(root: Path, texts: dict[str, bytes]) -> Path:
    for name, content in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def write_tar(path: Path, *members: tuple[str, bytes]) -> Path:
    """A tar archive with these names as they are, one after the other."""
    packing = path.suffix.replace("tgz", "gz")[1:].replace("tar", "")
    with tarfile.open(path, f"w:{packing}") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


# AG News: no header, three columns that are all quoted, Windows line ends.
AG_NEWS = (
    '"3","Wall St. Bears Claw Back (Reuters)","Reuters - ""Ultra-cynics"", seeing green\\band."\r\n'
    '"4","Chip, maker","Intel\'s #39;s profit, up 5%"\r\n'
    '"1","Vote in Kabul","Polls open; queues"\r\n'
    '"2","Final","Two goals, late"\r\n'
)
AG_ROWS = [
    ("Wall St. Bears Claw Back (Reuters)", 'Reuters - "Ultra-cynics", seeing green\\band.', "3"),
    ("Chip, maker", "Intel's #39;s profit, up 5%", "4"),
    ("Vote in Kabul", "Polls open; queues", "1"),
    ("Final", "Two goals, late", "2"),
]
AG_OPTIONS = {"header": False, "text_column": "2,3", "label_column": "1"}


def test_ag_news_is_read_without_editing(tmp_path):
    path = tmp_path / "train.csv"
    path.write_bytes(AG_NEWS.encode())
    expected = [(f"{title}\n{body}", label) for title, body, label in AG_ROWS]
    assert texts_of(path, **AG_OPTIONS) == expected
    assert texts_of(path, **{**AG_OPTIONS, "text_column": "3"}) == [
        (body, label) for _, body, label in AG_ROWS
    ]
    (tmp_path / "test.csv").write_bytes(AG_NEWS.encode())
    corpus, notices = read(tmp_path, **AG_OPTIONS)
    assert (corpus.label_names, notices) == (["1", "2", "3", "4"], [])


# SMS spam: no header, a tab, quotes that are plain characters, no ending of the file's name.
SMS = (
    "ham\tGo until jurong point, crazy..\n"
    'ham\t"Hello there\n'
    "spam\tFree entry in 2 a wkly comp!\n"
    'ham\tU dun say so "early" hor... I\'m\n'
    'ham\tI said "ok" and left"\n'
    'spam\t"Quoted whole"\n'
) * 3


def test_sms_spam_is_read_without_editing(tmp_path):
    path = tmp_path / "SMSSpamCollection"
    path.write_text(SMS, encoding="utf-8")
    options = {"header": False, "text_column": "2", "label_column": "1"}
    expected = [tuple(line.split("\t")[::-1]) for line in SMS.splitlines()]
    assert texts_of(path, **options) == expected
    corpus, notices = read(path, **options)
    assert (corpus.label_names, len(corpus.train_texts)) == (["ham", "spam"], 13)
    assert "a table with columns divided by tab, which is a guess; --delimiter" in notices[0]
    named = tmp_path / "sms.tsv"
    named.write_text(SMS, encoding="utf-8")
    assert texts_of(named, **options) == expected
    refused(r"has no column 'text'.*no header, say --no-header", read, path)
    refused(r"by number there is: 1 \('ham'\), 2 \('Go until jurong poi", read, path, header=False)


def test_quotes_of_a_tab_separated_file_are_an_option(tmp_path):
    path = tmp_path / "sms.tsv"
    path.write_text('label\ttext\nham\t"all of it"\nspam\tnone\n', encoding="utf-8")
    assert [text for text, _ in texts_of(path)] == ["all of it", "none"]
    assert [text for text, _ in texts_of(path, quotes=False)] == ['"all of it"', "none"]


# TREC: the first word is the label, and the file is latin-1.
TREC = [
    "DESC:manner How did serfdom develop in and then leave Russia ?",
    "ENTY:cremat What films featured the character Popeye Doyle ?",
    "HUM:ind Who was Ren\u00e9 Descartes ?",
    "LOC:other Where is S\u00e3o Paulo ?",
] * 4


def test_trec_is_read_without_editing(tmp_path):
    path = tmp_path / "train_5500.label"
    path.write_bytes("".join(f"{line}\n" for line in TREC).encode("latin-1"))
    expected = [line.partition(" ") for line in TREC]
    assert texts_of(path) == [(text, label) for label, _, text in expected]
    coarse = [(text, label.partition(":")[0]) for label, _, text in expected]
    assert texts_of(path, encoding="latin-1", label_column="coarse_label") == coarse
    test = tmp_path / "TREC_10.label"
    test.write_bytes("".join(f"{line}\n" for line in TREC[:4]).encode("latin-1"))
    corpus, notices = read(path, test=str(test), label_column="coarse_label")
    assert corpus.label_names == ["DESC", "ENTY", "HUM", "LOC"]
    assert (len(corpus.train_texts), len(corpus.test_texts)) == (16, 4)
    assert "Who was Ren\u00e9 Descartes ?" in corpus.test_texts
    text = "\n".join(notices)
    assert "train_5500.label is not UTF-8 (byte 0xe9 in line 3): read as cp1252" in text
    assert "which is a guess; --encoding NAME reads it otherwise" in text
    assert "--file-format reads it otherwise" in text
    assert corpus.notes["split"] == "test split from TREC_10.label"
    assert "TREC_10.label is not UTF-8 (byte 0xe9 in line 3): read" in corpus.notes["reading"]
    assert str(tmp_path) not in corpus.notes["reading"]  # data are the same wherever they are


def test_labels_of_fasttext_lose_their_prefix(tmp_path):
    path = tmp_path / "reviews.txt"
    path.write_text("__label__1 good: very\n__label__2 bad\n", encoding="utf-8")
    assert texts_of(path) == [("good: very", "1"), ("bad", "2")]


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("ending", PACKED)
def test_a_compressed_file_is_read_as_the_file_that_is_in_it(tmp_path, ending):
    (tmp_path / "plain.csv").write_text(rows())
    packed = tmp_path / f"data.csv{ending}"
    packed.write_bytes(PACKED[ending](rows().encode()))
    assert read(packed) == read(tmp_path / "plain.csv")
    (tmp_path / "both").mkdir()
    for split in ("train", "test"):
        (tmp_path / "both" / f"{split}.csv{ending}").write_bytes(PACKED[ending](rows().encode()))
    assert len(read(tmp_path / "both")[0].test_texts) == 8
    packed.write_bytes(packed.read_bytes()[:-9])
    refused(f"data.csv{ending} cannot be", read, packed)
    packed.write_text("not packed")
    refused(f"data.csv{ending} cannot be", read, packed)


@pytest.mark.parametrize("folder", ["", "archive/"])
@pytest.mark.parametrize("ending", ["zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz"])
def test_an_archive_is_a_file_or_a_directory(tmp_path, folder, ending):
    path = tmp_path / f"data.{ending}"
    write_archive(path, {f"{folder}texts.csv": rows(), "readme.txt": "about", "__MACOSX/x": "y"})
    assert len(texts_of(path)) == 8
    write_archive(path, {f"{folder}train.csv": rows(), f"{folder}test.csv": rows(4), "LICENSE": ""})
    assert [len(texts) for _, texts, _ in read(path)[0].splits()] == [8, 4]
    texts = {f"{folder}{split}/{c}/{i}": f"{c} {i}" for split in SPLITS for c in "ab" for i in "12"}
    write_archive(path, texts)
    assert sorted(read(path)[0].test_texts) == ["a 1", "a 2", "b 1", "b 2"]
    write_archive(path, {f"{folder}train.csv": "text,label\n,a\n"})
    refused(rf"data.{ending}/{folder}train.csv, line 2: 'text' is empty", read, path)
    write_archive(path, {"readme": "nothing else"})
    refused(rf"data.{ending} holds no data file", read, path)
    path.write_text("no archive")
    refused(rf"data.{ending} cannot be unpacked: (BadZip|Read)", read, path)


def test_of_a_tar_archive_files_alone_are_read(tmp_path):
    path, secret = tmp_path / "data.tar.gz", tmp_path / "secret.csv"
    secret.write_text(rows(2))
    with tarfile.open(path, "w:gz") as archive:
        archive.add(write_folders(tmp_path, {"some/train.csv": rows().encode()}) / "some", "./some")
        link = tarfile.TarInfo("./some/test.csv")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        archive.addfile(link)
    corpus, notices = read(path)  # without the link there is no test split
    assert len(corpus.train_texts) + len(corpus.test_texts) == 8
    assert "has no test split" in notices[0]


def test_names_in_a_tar_archive_that_lead_out_of_it_are_read_as_tar_unpacks_them(tmp_path):
    train, test = rows().encode(), b"text,label\nanother,a\n"
    path = write_tar(tmp_path / "x.tgz", ("d/train.csv", train), ("../d/test.csv", test))
    corpus, _ = read(path)
    assert (len(corpus.train_texts), corpus.test_texts) == (8, ["another"])
    for name in ("/etc/ok.csv", "../../ok.csv", "a/../b.csv"):
        assert len(texts_of(write_tar(path, (name, train)))) == 8
    write_tar(path, ("train.csv", train), ("../train.csv", test))
    refused(r"'train.csv' and '../train.csv', both for 'train.csv'", read, path)


def test_the_limit_of_a_tar_archive_is_for_what_is_read(tmp_path):
    lines = b"%b,a\n%b,b\n" % (b"x" * 70, b"y" * 70)
    path, part = tmp_path / "x.tgz", b"text,label\n" + lines * 4400  # 0.6 MiB
    write_tar(path, ("other.bin", bytes(3 << 20)), ("train.csv", rows().encode()))
    assert len(texts_of(path, size_limit=1)) == 8
    write_tar(path, ("train.csv", part), ("test.csv", part))
    refused(r"x.tgz has more than 1 MiB, the limit; a larger --size", read, path, size_limit=1)
    assert len(read(path, size_limit=2)[0].train_texts) == 8800
    write_tar(path, ("a.png", part), ("train.csv", part))  # nobody reads the picture
    assert len(texts_of(path, size_limit=1)) == 8800
    path = write_tar(tmp_path / "y.tgz", ("lines.txt", bytes(3 << 20)))
    by_lines = Reading(size_limit=1, encoding="utf-8")
    says = "y.tgz/lines.txt has 3.0 MiB; the limit is 1 MiB"
    refused(says, read_texts, str(path), reading=by_lines)


@pytest.mark.filterwarnings("error:Duplicate name")
def test_a_file_that_was_added_to_a_tar_archive_again_is_the_last_of_its_name(tmp_path):
    new = b"text,label\nnew,a\nnewer,b\n"
    path = write_tar(tmp_path / "x.tgz", ("a.csv", rows().encode()), ("./a.csv", new))
    assert texts_of(path) == [("new", "a"), ("newer", "b")]


def test_an_encrypted_archive_is_refused(tmp_path):
    path = tmp_path / "data.zip"
    write_archive(path, {"data.csv": rows()})
    whole = bytearray(path.read_bytes())
    whole[whole.index(b"PK\x01\x02") + 8] |= 1  # the flag of an encrypted member
    path.write_bytes(whole)
    refused(r"data.zip is encrypted: unpack it", read, path)


def test_a_folder_for_every_class(tmp_path):
    texts = {f"{c}/{i}": f"{c} text {i}".encode() for c in ("alt.x", "sci.y") for i in range(4)}
    root = write_folders(tmp_path / "news", {**texts, ".DS_Store": b"\0", "alt.x/.hidden": b"\0"})
    assert texts_of(root) == [(text.decode(), name.split("/")[0]) for name, text in texts.items()]
    assert [len(part) for _, part, _ in read(root)[0].splits()] == [6, 2]


@pytest.mark.parametrize("prefix", ["", "20news-bydate-"])
def test_folders_of_classes_within_those_of_splits(tmp_path, prefix):
    root = write_folders(
        tmp_path / "news",
        {
            f"{prefix}{split}/{c}/{i}.txt": f"{split} {c} caf\u00e9".encode("latin-1")
            for split in (*SPLITS, "dev")
            for c in ("a", "b")
            for i in range(3)
        },
    )
    corpus, notices = read(root)
    assert [(split, len(texts)) for split, texts, _ in corpus.splits()] == [
        ("train", 6),
        ("test", 6),
        ("validation", 6),
    ]
    assert corpus.test_texts[:3] == ["test a caf\u00e9"] * 3
    assert "6 files are not UTF-8" in notices[0]
    alone, _ = read(root / f"{prefix}train", test=str(root / f"{prefix}test"))
    assert alone.test_texts == corpus.test_texts
    refused(r"--delimiter: for tables, and .* a folder for every class", read, root, delimiter=";")


# Encodings


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Die schönen Häuser stehen größtenteils in der Straße über dem Fluß.\n", "cp1252"),
        ("Привет, как дела? Сегодня хорошая погода, и мы идём гулять.\n", "cp1251"),
        ("Привет, как дела? Сегодня хорошая погода, и мы идём гулять.\n", "koi8-r"),
        ("今日は天気がいいです。東京に行きました。\n", "shift_jis"),
        ("今天天气很好,我们去公园散步。\n", "gb18030"),
        ("Zażółć gęślą jaźń. Dziś jest piękna pogoda.\n", "cp1250"),
        ("text with a mark\n", "utf-8-sig"),
        ("text with a mark é\n", "utf-16"),
        ("text without a mark\n", "utf-16-le"),
        ("plain é 東京\n", "utf-8"),
    ],
)
def test_the_encoding_of_a_file_is_found_and_a_guess_is_named(tmp_path, text, encoding):
    path = tmp_path / "x.txt"
    path.write_bytes((text * 3).encode(encoding))
    notices: list[str] = []
    assert read_text(path, notices=notices) == text * 3
    assert len(notices) == (encoding not in ("utf-8", "utf-8-sig", "utf-16"))
    assert read_text(path, TextReading(encoding=encoding), []) == text * 3


def test_an_encoding_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"text,label\nx,1\nna\xefve,1\n")
    for encoding, shown in (("utf-8", "UTF-8"), ("ascii", "ascii")):
        refused(f"x.csv is not {shown}: byte 0xef in line 3", read, path, encoding=encoding)
    refused("--encoding 'latin-7x': no such encoding", read, path, encoding="latin-7x")
    path.write_bytes(b"text,label\ncaf\xc3\xa9,1\nd\xc3\xa9j\xc3\xa0,1\n\xff\xfe broken,0\n")
    damaged = r"x.csv is not UTF-8: byte 0xff in line 4; no other encoding can be guessed: name its"
    refused(damaged, read, path)
    path.write_bytes(bytes(range(256)) * 4)
    refused(r"x.csv is not UTF-8", read, path)


@quick
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=200))
def test_utf_8_is_never_guessed_to_be_anything_else(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("utf8") / "x"
    path.write_bytes(b"a" + text.encode())
    notices: list[str] = []
    assert (read_text(path, notices=notices), notices) == ("a" + text, [])


def test_a_format_can_be_given_whatever_the_ending(tmp_path):
    path = tmp_path / "x.data"
    path.write_text('{"text": "a", "label": 1}\n')
    assert texts_of(path, file_format="jsonl") == [("a", "1")]
    assert texts_of(path) == [("a", "1")]
    path.write_text("good it was\nbad it was not\n")
    assert texts_of(path, file_format="label-text") == [("it was", "good"), ("it was not", "bad")]
    path.write_bytes(b"PK\x03\x04\x14\x00" + bytes(range(256)))  # as a spreadsheet begins
    refused(r"x.data is of no format the zoo reads .* --file-format or", read, path)
    path.write_text("what is this\nnothing to go by\nat all\nis there\n")
    refused(r"x.data is of no format the zoo reads", read, path)
    refused("--file-format 'xml': Input should be 'auto', 'csv'", read, path, file_format="xml")
