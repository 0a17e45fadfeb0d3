"""Tagged texts from CoNLL columns, rows of lists and the Hub; groups of the user's own texts."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from fakehub import hub_of
from refused import refused

from zoo.config.reading import Division, Reading
from zoo.data.sources.corpus import IGNORED, Corpus, TaggedCorpus
from zoo.data.sources.labelled_texts import LabelledTexts
from zoo.data.sources.load_data import load_corpus, load_data
from zoo.data.sources.tagged_texts import TaggedTexts, read_conll
from zoo.registry import Registry

ROWS = [
    {"tokens": ["Anna", "sees", "New", "York"], "tags": ["B-PER", "O", "B-LOC", "I-LOC"]},
    {"tokens": ["Ben", "runs"], "tags": ["B-PER", "O"]},
    {"tokens": ["Rome", "is", "far"], "tags": ["B-LOC", "O", "O"]},
    {"tokens": ["Oslo", "too"], "tags": ["B-LOC", "O"]},
] * 3
NAMES = ["B-LOC", "B-PER", "I-LOC", "O"]


def read(path: Path | str, **columns: str) -> tuple[TaggedCorpus, list[str]]:
    return load_data(Registry(), str(path), TaggedTexts(**columns), TaggedCorpus)


def conll(rows: list[dict], middle: str = " X ") -> str:
    return "\n".join(
        "".join(f"{t}{middle}{g}\n" for t, g in zip(row["tokens"], row["tags"], strict=True))
        for row in rows
    )


def pairs_of(corpus: TaggedCorpus) -> list[tuple[list[str], list[str]]]:
    return sorted(
        (tokens, [corpus.label_names[tag] for tag in tags])
        for _, texts, its in corpus.splits()
        for tokens, tags in zip(texts, its, strict=True)
    )


def write(directory: Path, suffix: str, rows: list[dict] = ROWS) -> Path:
    path = directory / f"data{suffix}"
    if suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    elif suffix == ".json":
        path.write_text(json.dumps(rows))
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text("-DOCSTART- X O\n\n" + conll(rows, "\tX\t" if suffix == ".tsv" else " X "))
    return path


@pytest.mark.parametrize("suffix", [".conll", ".txt", ".tsv", ".jsonl", ".json", ".parquet"])
def test_every_format_gives_the_same_texts(tmp_path, suffix):
    corpus, notices = read(write(tmp_path, suffix))
    assert corpus.label_names == NAMES
    assert pairs_of(corpus) == sorted((row["tokens"], row["tags"]) for row in ROWS)
    assert (len(corpus.train_tokens), len(corpus.test_tokens)) == (9, 3)
    assert "no test split; by text, seed 0, 3 of 12 for test" in notices[0]


def test_texts_with_a_broken_line_are_left_out_where_asked(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text("a O\nb B\n\na O\nb\nc O\n\nd O\ne B\n\nf\n\n")
    refused("line 5: 1 column, where line 1 has 2 columns: 'b'", read, path)
    reader = TaggedTexts(reading=Reading(drop_bad_rows=True))
    notices: list[str] = []
    texts = [one.text for one in reader.read_undivided(path, notices)]
    assert texts == [["a", "b"], ["d", "e"]]
    for notice, line in zip(notices, (5, 11), strict=True):
        assert f"line {line}: 1 column, where line 1 has 2 columns" in notice
        assert notice.endswith("; left out")


def test_columns_of_a_conll_file_are_chosen_by_number(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text("1 Anna N PER\n2 runs V O\n\n" * 2 + "1 Ben N PER\n2 runs V O\n")
    corpus, _ = read(path, tokens_column="2", tags_column="3")
    assert corpus.label_names == ["N", "V"]
    assert {token for tokens in corpus.train_tokens for token in tokens} <= {"Anna", "Ben", "runs"}
    assert read(path)[0].label_names == ["O", "PER"]


UNIVERSAL = """# text = Don't go. He left
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tthere\t_\tADV\tRB\t_\t_\t_\t_\t_

1\tHe\the\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2\tleft\tleave\tVERB\tVBD\t_\t0\troot\t_\tSpaceAfter=No

1\tDo\tdo\tAUX\tVB\t_\t2\taux\t_\t_
2\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
"""


def test_the_words_of_conll_u_are_read_and_its_columns_have_names(tmp_path):
    path, other = tmp_path / "x.conllu", tmp_path / "x.conll"
    path.write_text(UNIVERSAL)
    corpus, _ = read(path)
    assert (["Do", "n't", "go"], ["AUX", "PART", "VERB"]) in pairs_of(corpus)
    assert (["He", "left"], ["PRON", "VERB"]) in pairs_of(corpus)
    for columns in ({"tags_column": "4"}, {"tokens_column": "FORM", "tags_column": "upos"}):
        assert pairs_of(read(path, **columns)[0]) == pairs_of(corpus)
    other.write_text(
        "\n".join(line for line in UNIVERSAL.split("\n") if line[1:2] not in ("-", "."))
    )
    named = read(other, tokens_column="FORM", tags_column="UPOS")[0]
    assert pairs_of(named) == pairs_of(corpus)
    assert read(path, tags_column="XPOS")[0].label_names == ["PRP", "RB", "VB", "VBD"]
    refused("the numbers 1 to 10, or ID, FORM, LEMMA, UPOS, XPOS", read, path, tags_column="POS")


def test_tags_in_several_spellings_are_one_where_asked(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text("a b-per\nb O\n\n" + "c B-PER\nd o\ne O\n\n" * 3)
    corpus, notices = read(path)
    assert set(corpus.label_names) == {"B-PER", "b-per", "O", "o"}
    assert "'O' (4) and 'o' (3); 'B-PER' (3) and 'b-per' (1); --merge-labels makes" in notices[0]
    reader = TaggedTexts(division=Division(merge_labels=True))
    merged, _ = load_data(Registry(), str(path), reader, TaggedCorpus)
    assert merged.label_names == ["B-PER", "O"]
    assert (["a", "b"], ["B-PER", "O"]) in pairs_of(merged)


def test_tags_that_are_minus_100_do_not_count(tmp_path):
    rows = [{"tokens": ["a", "b", "c"], "tags": [0, 1, IGNORED]}] * 4
    corpus, _ = read(write(tmp_path, ".jsonl", rows))
    assert corpus.label_names == ["0", "1"]
    assert corpus.train_tags[0] == [0, 1, IGNORED]
    (tmp_path / "y.conll").write_text("a 0\nb 1\nc -100\n\n" * 4)
    assert read(tmp_path / "y.conll")[0].train_tags[0] == [0, 1, IGNORED]


def test_a_single_text_with_a_tag_is_not_put_into_the_test_split(tmp_path):
    for place in range(8):  # wherever it stands
        rows = [{"tokens": ["x", "y"], "tags": ["A", "B"]} for _ in range(8)]
        rows[place] = {"tokens": ["z", "y"], "tags": ["C", "B"]}
        corpus, _ = read(write(tmp_path, ".jsonl", rows))
        assert ["z", "y"] in corpus.train_tokens


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a O\nb O\n\nc\n", {}, "line 4: 1 column, where line 1 has 2 columns: 'c'"),
        ("a\nb\n", {}, "the tokens and the tags are the same column"),
        ("a O\n", {"tags_column": "3"}, "--tags-column 3: the columns .* the numbers 1 to 2"),
        ("a O\n", {"tokens_column": "word"}, "--tokens-column word: the columns of a CoNLL"),
        ("\n\n", {}, "is empty: it has no rows"),
        ("a O\n", {"group_column": "year"}, r"no column 'year' \(--group-column\)"),
        ("a O\nb X\n", {}, "cannot be divided: it has one text"),
        ("a O\n# id = 3\nb X\n", {}, "line 2: 4 columns, where line 1 has 2 columns"),
        ("# nothing else\n\n", {}, "is empty: it has no rows"),
    ],
)
def test_a_conll_file_that_does_not_fit_is_refused_with_its_line(tmp_path, text, columns, message):
    path = tmp_path / "bad.conll"
    path.write_text(text)
    caught = refused(message, read, path, **columns)
    assert "bad.conll" in str(caught)


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_comments_before_a_text_are_skipped_and_the_token_is_not(tmp_path, separator):
    path = tmp_path / "x.conll"
    lines = "# sent_id = 1|# text = Ben pays # 5|# id 1|Ben O|# O|#5 B||# newdoc id 7|# O|#tag B|"
    if separator == "\t":
        lines = lines.replace("# O", "#\tO").replace("Ben O", "Ben\tO").replace(" B|", "\tB|")
        lines = "# newdoc|" + lines  # has two columns only where spaces divide them
    path.write_text(lines.replace("|", "\n"))
    assert [text for _, text in read_conll(path)] == [
        [["Ben", "O"], ["#", "O"], ["#5", "B"]],
        [["#", "O"], ["#tag", "B"]],
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"tokens": ["a", "b"], "tags": ["O"]}, "line 2 has 2 tokens but 1 tags"),
        ({"tokens": [], "tags": []}, "line 2 has no tokens"),
        ({"tokens": "a b", "tags": ["O", "O"]}, "line 2: 'tokens' is no list but a str"),
        ({"tokens": ["a"]}, "line 2: 'tags' is missing"),
        ({"tokens": ["a", ""], "tags": ["O", "O"]}, "line 2: token 2 is empty"),
        ({"tokens": ["a", None], "tags": ["O", "O"]}, "token 2 is not text but a NoneType"),
        ({"tokens": ["\ud800"], "tags": ["O"]}, "line 2: token 1 holds half a character"),
        ({"tokens": ["a"], "tags": [1.5]}, "has a tag that is no text and no whole number: 1.5"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_with_its_place(tmp_path, row, message):
    path = write(tmp_path, ".jsonl", [ROWS[0], row, *ROWS])
    caught = refused(message, read, path)
    assert "data.jsonl" in str(caught)


def test_a_table_cannot_hold_lists(tmp_path):
    (tmp_path / "x.csv").write_text("tokens,tags\na,O\n")
    refused("of no format that tagged texts are read from", read, tmp_path / "x.csv")


def test_hub_data_give_their_class_labels_by_name(serve, tmp_path):
    import datasets

    names = datasets.ClassLabel(names=["O", "B-PER", "B-LOC", "I-LOC"])
    features = datasets.Features(
        {
            "tokens": datasets.Sequence(datasets.Value("string")),
            "ner_tags": datasets.Sequence(names),
        }
    )
    rows = [
        {"tokens": row["tokens"], "ner_tags": [names.str2int(t) for t in row["tags"]]}
        for row in ROWS
    ]
    rows[0]["ner_tags"][1] = IGNORED
    files = {}
    for split, part in (("train", rows), ("test", rows[1:3])):
        file = tmp_path / f"{split}.parquet"
        datasets.Dataset.from_list(part, features=features).to_parquet(file)
        files[file.name] = file.read_bytes()
    serve(hub_of("owner/ner", files))
    corpus, _ = read("hub:owner/ner", tags_column="ner_tags")
    assert corpus.label_names == NAMES
    assert corpus.train_tags[0] == [1, IGNORED, 0, 2]
    assert corpus.test_tokens == [row["tokens"] for row in ROWS[1:3]]


def test_data_of_another_kind_are_refused(registry):
    for spec, reader, says in (
        ("newswire(train=10, test=5)", TaggedTexts(), "gives no TaggedCorpus but a Corpus"),
        ("recall", TaggedTexts("words"), "--tokens-column, --tags-column and --group-column are"),
    ):
        refused(says, load_data, registry, spec, reader, TaggedCorpus)


# --group-column


def grouped(tmp_path: Path, years: list[object]) -> Path:
    rows = [
        {"text": f"text {n}", "label": "ab"[n % 2], "year": year} for n, year in enumerate(years)
    ]
    path = tmp_path / "grouped.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_every_test_text_has_the_group_of_its_row(tmp_path):
    path = grouped(tmp_path, [2000 + n for n in range(12)])
    corpus, _ = load_corpus(Registry(), str(path), LabelledTexts(group_column="year"))
    expected = [str(2000 + int(text.removeprefix("text "))) for text in corpus.test_texts]
    assert corpus.test_groups == expected
    plain: Corpus = load_corpus(Registry(), str(path))[0]
    assert plain.test_groups == []
    assert plain.fingerprint != corpus.fingerprint


@pytest.mark.parametrize(
    ("years", "column", "message"),
    [
        ([1, 2] * 4, "yaer", r"no column 'yaer' \(--group-column\); did you mean 'year'"),
        ([1, 2, 3, " ", 5, 6, 7, 8], "year", r"line 4: 'year' \(--group-column\) is empty"),
        ([1, None, 3, 4, 5, 6, 7, 8], "year", r"line 2: 'year' \(--group-column\) is empty"),
    ],
)
def test_a_missing_group_is_one_clear_line(tmp_path, years, column, message):
    reader = LabelledTexts(group_column=column)
    refused(message, load_corpus, Registry(), str(grouped(tmp_path, years)), reader)
