"""All that is wrong with a file is said at once, in lines that name file and row."""

from pathlib import Path

import pytest
from reading import read, read_tagged, rows, rows_of
from refused import refused

from zoo.errors import DataError


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.jsonl", " \n", "a.jsonl is empty: it has no rows"),
        ("a.json", "[]", "a.json is empty: it has no rows"),
        ("a.csv", "", "a.csv is empty: it has no rows"),
        ("a.csv", "text,label\n", "a.csv is empty: it has no rows"),
        ("a.csv", "txt,label\nx,1\n", r"no column 'text' \(--text-column\).*did you mean 'txt'"),
        ("a.csv", "text,kind\nx,1\n", r"no column 'label' \(--label-column\).*There is: text, kin"),
        ("a.csv", "x,1\ny,2\n", "say --no-header if its first line is no header"),
        ("a.csv", "text;label\nx;1\n", "and --delimiter if another character divides"),
        ("a.csv", "text,label,text\nx,1,y\n", "a.csv has two columns 'text'"),
        ("a.csv", "text,label,text\u200b\nx,1,y\n", "two columns 'text'"),
        ("a.jsonl", '{"text": "x", "label": ["a", "b"]}', "must be one text or number, not"),
        ("a.csv", "text,label\nx,\\N\n", "line 2: 'label' is missing"),
        ("a.csv", "text,label\none\\, two,a\n", "line 2: 3 fields, where its header has 2"),
        ("a.jsonl", '{"text": "x", "label": 1, "label": 2}\n', "line 1: .* 'label' is there twice"),
        ("a.json", '[{"text": "x", "text": 2}]', "a.json is broken JSON: .* 'text' is there twice"),
        ("a.csv", b"PK\3\4\n\0\xe3", "a.csv holds a NUL byte in line 2: it is damaged, or no text"),
        ("a.txt", "__label__a __label__b x\n", "a.txt is of no format the zoo reads"),
        (
            "a.csv",
            'text,label\n"the \\"oh\\"",1\n',
            "line 2: a quoted field is broken .*; --no-quotes and --escape",
        ),
        ("a.csv", "text,label\nx,1\n ,2\n", "a.csv, line 3: 'text' is empty"),
        ("a.csv", "text,label\nx,1\ny\n", "a.csv, line 3: 'label' is missing"),
        (
            "a.csv",
            "text,label\nx,1,2\ny,1,2\n",
            "line 2 and line 3: 3 fields, where its header has 2",
        ),
        ("a.csv", 'text,label\nx,1\n"y,1\nz,2\n', "line 3: a quoted field is broken.* --no-quotes"),
        ("a.tsv", 'text\tlabel\n"y" z\t1\n', "line 2: a quoted field is broken.* --no-quotes"),
        (
            "a.jsonl",
            '{"text": "x", "label": 1}\n{"text": \n',
            "line 2: broken JSON: Expecting value",
        ),
        ("a.jsonl", '{"text": "x", "label": 1}\n[1]\n', "line 2: no object but a list"),
        ("a.jsonl", '{"text": 5, "label": 1}\n', "line 1: 'text' is not text but a int"),
        ("a.jsonl", '{"text": "x", "label": {}}\n', "line 1: 'label' must be one text or number"),
        ("a.jsonl", '{"text": "x", "label": NaN}\n', "line 1: 'label' is missing"),
        ("a.jsonl", '{"text": "x", "label": "a\\ud800"}\n', "line 1: 'label' holds half a char"),
        (
            "a.jsonl",
            '{"text": "x", "label": %s}' % ("9" * 5000),
            "line 1: broken JSON: Exceeds the limit",
        ),
        ("a.json", '[{"text": "x"},\n{"text": ', "a.json is broken JSON: Expecting value: line 2"),
        ("a.json", '[{"text": "x", "label": 1}, 2]', "a.json, row 2: no object but a int"),
        ("a.json", b'[{"text": "\xef"}]', "a.json is not UTF-8: byte 0xef in line 1"),
        ("a.jsonl", "[" * 9999, "a.jsonl is broken JSON: maximum recursion"),
        ("a.parquet", "no parquet", "a.parquet cannot be read: ArrowInvalid"),
        ("a.xlsx", "x", r"a.xlsx is of no format the zoo reads \(.csv, .tsv.* --file-format"),
        ("a.csv.gz", "not packed", "a.csv.gz cannot be"),
        ("a.csv.xz", "not packed", "a.csv.xz cannot be read: "),
        ("a.csv.zip", "not packed", "a.csv.zip cannot be read: BadZipFile"),
    ],
)
def test_a_file_that_does_not_fit_is_named_with_the_place(tmp_path, name, content, complaint):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(complaint, read, path)


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a O\nb O\n\nc\n", {}, "line 4: 1 column, where line 1 has 2 columns: 'c'"),
        ("a\nb\n", {}, r"no column 'tags' \(--tags-column\). There is: 1, tokens"),
        ("a O\n", {"tags_column": "3"}, "no column '3'.*There is: 1, 2, tokens, tags"),
        ("a O\n", {"tags_column": "tokens"}, "'tokens' is both --tokens-column and --tags-col"),
        ("\n\n", {}, "is empty: it has no rows"),
        ("a O\n", {"group_column": "year"}, r"no column 'year' \(--group-column\)"),
        ("a O\nb X\n", {}, "cannot be divided: 1 of its texts are too few"),
        ("a O\n# id = 3\nb X\n", {}, "line 2: 4 columns, where line 1 has 2 columns"),
        ("# nothing else\n\n", {}, "is empty: it has no rows"),
    ],
)
def test_a_conll_file_that_does_not_fit_is_refused_with_its_line(tmp_path, text, columns, message):
    path = tmp_path / "bad.conll"
    path.write_text(text)
    refused(message, read_tagged, path, **columns)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"tokens": ["a", "b"], "tags": ["O"]}', "line 1: it has 2 tokens but 1 tags"),
        ('{"tokens": [], "tags": []}', "line 1: it has no tokens"),
        ('{"tokens": "a b", "tags": ["O", "O"]}', "line 1: 'tokens' is no list but a str"),
        ('{"tokens": ["a"]}', "line 1: 'tags' is no list but a NoneType"),
        ('{"tokens": ["a", ""], "tags": ["O", "O"]}', "line 1: it: token 2 is empty"),
        ('{"tokens": ["a", null], "tags": ["O", "O"]}', "token 2 is missing"),
        ('{"tokens": ["a"], "tags": [[1]]}', "a tag in 'tags' must be one text or number"),
    ],
)
def test_a_row_of_tags_that_does_not_fit_is_refused_with_its_place(tmp_path, row, message):
    good = '{"tokens": ["a", "b"], "tags": ["O", "P"]}\n'
    path = tmp_path / "data.jsonl"
    path.write_text(f"{row}\n{good * 4}")
    refused(message, read_tagged, path)


def test_a_table_cannot_hold_lists(tmp_path):
    (tmp_path / "x.csv").write_text("tokens,tags\na,O\n")
    refused("line 2: 'tokens' is no list but a str", read_tagged, tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("x.parquet", {"delimiter": ";"}, "--delimiter: for tables of text, and .* is parquet"),
        ("x.parquet", {"encoding": "latin-1"}, "--encoding: for tables of text, and .* is parquet"),
        ("x.jsonl", {"header": False}, "--no-header: for tables of text, and .* is jsonl"),
        ("x.jsonl", {"quotes": False}, "--no-quotes: for tables of text, and .* is jsonl"),
        ("x.csv", {"encoding": "latin-7x"}, "--encoding latin-7x: no such encoding"),
        ("x.csv", {"delimiter": "::"}, "--delimiter ::: expected one character, tab or space"),
    ],
)
def test_an_option_that_cannot_be_is_refused(tmp_path, name, options, says):
    (tmp_path / name).write_text("{}\n")
    refused(says, read, tmp_path / name, **options)


TOPICS = {"Billing": "invoice refund", "Login": "password locked", "Shipping": "parcel late"}


def messy(path: Path) -> Path:
    """Tickets with empty cells, one label in two spellings, and rare classes."""
    table = [[f"{n}", f"{TOPICS[t]} {n}", t] for n in range(30) for t in TOPICS]
    for number in (3, 40, 41, 50, 60, 70, 80):
        table[number][2] = " "
    table[7][1] = ""
    table[12][2] = table[18][2] = "billing"
    table += [["90", "something else", "Legal"], ["91", "who knows", "Press"]]
    lines = ["id,message,category", *map(",".join, table)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_every_problem_is_named_at_once(tmp_path):
    path = messy(tmp_path / "my tickets.csv")
    refused("There is: id, message, category", read, path, text_column="message")
    columns = {"text_column": "message", "label_column": "category"}
    problems = refused("", read, path, **columns).problems
    wanted = (
        "line 5, line 42, line 43, line 52, line 62 and 2 more: 'category' is missing (7 of 92",
        "line 9: 'message' is empty",
        "labels that look alike: 'Billing' (26) and 'billing' (2)",
        "2 classes have only one document, 'Legal' (line 92) and 'Press' (line 93)",
    )
    assert len(problems) == len(wanted)
    assert all(said in problem for said, problem in zip(wanted, problems, strict=True))
    assert problems[1].endswith("'message' is empty; --drop-bad-rows leaves such rows out")
    assert len(refused("", read, path, **columns, drop_bad_rows=True).problems) == 2


def test_broken_rows_are_left_out_where_asked_counted_and_named(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(rows() + "one,a,more\n ,b\nlast,\nfine,b\n")
    assert len(refused("line 10: 3 fields", read, path).problems) == 3
    corpus, notices = read(path, drop_bad_rows=True)
    wanted = (
        "line 10: 3 fields, where its header has 2; left out",
        "line 11: 'text' is empty; left out",
        "line 12: 'label' is missing; left out",
    )
    for notice, said in zip(notices, wanted, strict=False):
        assert notice == f"x.csv, {said}"  # without its folder: the same data wherever they are
        assert notice in corpus.notes["reading"]
    assert len(corpus.train.texts) + len(corpus.test.texts) == 9
    conll = tmp_path / "x.conll"
    conll.write_text("a O\nb B\n\na O\nb\nc O\n\nd O\ne B\n\nf\n\n")
    kept = rows_of(conll, tagged=True, drop_bad_rows=True)
    assert [tokens for tokens, _ in kept] == [["a", "b"], ["d", "e"]]
    path.write_text("text,label\n ,a\n")
    refused("no row can be used", read, path, drop_bad_rows=True)


def test_joined_columns_may_be_empty_but_not_all(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("title,body,label\none,two,a\n,,a\n")
    refused("line 3: 'title' and 'body' are empty", read, path, text_column="title,body")


@pytest.mark.parametrize(
    "labels",
    [["e mail", "email"], ["Кино", "кино"], ["a b", " A B"]],
)
def test_labels_that_look_alike_are_refused(tmp_path, labels):
    first, other = labels
    names = [first] * 9 + [other] * 4 + ["other"] * 8
    path = tmp_path / "x.csv"
    path.write_text("text,label\n" + "".join(f"t {n},{name}\n" for n, name in enumerate(names)))
    says = rf"labels that look alike: '{first.strip()}' \(9\) and '{other.strip()}' \(4\)$"
    refused(says, read, path)


def test_labels_that_differ_by_what_nobody_sees_are_one(tmp_path):
    names = ["\xe4", "\xe4\u200b", "\u202a\xe4", "a\u0308", "1", "1.0", "tr\x7fue"] * 2
    path = tmp_path / "x.csv"
    path.write_text("text,label\n" + "".join(f"t {n},{name}\n" for n, name in enumerate(names)))
    assert read(path)[0].label_names == ["1", "true", "\xe4"]


def test_a_text_of_nothing_to_see_is_empty_and_a_label_is_no_text(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(rows() + "\u200b\u202a,a\n\x01\u0301,a\n")
    refused("line 10 and line 11: 'text' is empty", read, path)
    says = "'label' is both --text-column and --label-column|--label-column and --text-column"
    refused(says, read, path, text_column="text,label")


def test_other_letters_are_other_labels(tmp_path):
    names = ["かき", "がき", "a-b", "a_b", "1", "01", "Zurich", "Zürich", "c", "c#", "?", "!"] * 2
    path = tmp_path / "x.csv"
    path.write_text("text,label\n" + "".join(f"t {n},{name}\n" for n, name in enumerate(names)))
    assert len(read(path)[0].label_names) == 12


def test_a_number_is_one_label_in_every_format(tmp_path):
    names = ["0.5", "1.0", "-2", "1", "0.0", "2.5e-09", "0"] * 2
    csv, lines = tmp_path / "x.csv", tmp_path / "x.jsonl"
    csv.write_text("text,label\n" + "".join(f"t {n},{name}\n" for n, name in enumerate(names)))
    rows = (f'{{"text": "t {n}", "label": {name}}}\n' for n, name in enumerate(names))
    lines.write_text("".join(rows))
    names = ["-2", "0", "0.5", "1", "2.5e-09"]
    assert read(csv)[0].label_names == read(lines)[0].label_names == names


def one_class(folder: Path) -> None:
    (folder / "train.csv").write_text("text,label\n" + "t,sad\n" * 8)


def two_names(folder: Path) -> None:
    lines = ["x,0,a", "y,1,c", "z,0,b"] * 2
    (folder / "train.csv").write_text("\n".join(["text,label,label_text", *lines]))


def two_files(folder: Path, *names: str) -> None:
    for name in names or ("train.csv", "train.jsonl"):
        (folder / name).write_text(rows())


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (one_class, r"train has the classes \['sad'\]; two are needed"),
        (two_names, "label 0 has two names in 'label_text'"),
        (lambda folder: two_files(folder, "train-0-of-2.csv"), "has train-0-of-2.csv for train"),
        (
            lambda folder: two_files(folder, "train-0-of-2.csv", "train-0-of-2.jsonl"),
            "has train-0-of-2.csv and train-0-of-2.jsonl for train",
        ),
        (two_files, "has train.csv and train.jsonl for train: give one file, or every shard"),
        (
            lambda folder: two_files(folder, "train.csv", "dev.csv", "valid.csv"),
            "has dev.csv and valid.csv for validation: give one file",
        ),
        (lambda folder: (folder / "data.csv").write_text(rows()), "no train file.*: data.csv"),
        (lambda folder: None, "no train file.*there is: no data file"),
    ],
)
def test_a_directory_that_does_not_fit(tmp_path, make, complaint):
    make(tmp_path)
    refused(complaint, read, tmp_path)


def test_an_error_of_data_is_one_line_with_all_problems():
    assert str(DataError(["one  thing", "another"])) == "one thing; another"


@pytest.mark.parametrize(
    ("years", "column", "message"),
    [
        ([1, 2] * 4, "yaer", r"no column 'yaer' \(--group-column\); did you mean 'year'"),
        ([1, 2, 3, " ", 5, 6, 7, 8], "year", r"line 5: 'year' \(--group-column\) is empty"),
    ],
)
def test_a_missing_group_is_one_clear_line(tmp_path, years, column, message):
    path = tmp_path / "x.csv"
    lines = [f"t {n},{'ab'[n % 2]},{year}" for n, year in enumerate(years)]
    path.write_text("\n".join(["text,label,year", *lines]))
    refused(message, read, path, group_column=column)
