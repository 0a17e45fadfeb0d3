"""A saved tagger: texts or CoNLL columns in, a tag for every token out, scores by group."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

import pytest
from saved_models import TINY
from sklearn.metrics import classification_report

from zoo.cli import main
from zoo.errors import ZooError
from zoo.inference.attention_map import attention_map
from zoo.inference.load import load
from zoo.models.text_model import TextTagger

PEOPLE, PLACES = ["Anna", "Ben", "Carla"], ["Rome", "Oslo", "Lima"]


def sentences(number: int, seed: int) -> list[dict]:
    draw = random.Random(seed)
    made = []
    for _ in range(number):
        tokens, tags = [draw.choice(PEOPLE)], ["B-PER"]
        if draw.random() < 0.5:
            tokens, tags = [*tokens, "Smith"], [*tags, "I-PER"]
        tokens += ["left", draw.choice(PLACES), *draw.sample(["today", "again", "by", "car"], 3)]
        made.append({"tokens": tokens, "tags": [*tags, "O", "B-LOC", "O", "O", "O"]})
        made[-1]["year"] = 2000 + len(tokens)
    return made


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tagged")
    for split, rows in (("train", sentences(150, 0)), ("test", sentences(30, 1))):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (directory / f"{split}.jsonl").write_text(text)
    return directory


@pytest.fixture(scope="package")
def saved(data: Path, tmp_path_factory: pytest.TempPathFactory, _environment: None) -> Path:
    directory = tmp_path_factory.mktemp("tagger") / "model"
    lr = ["--lr", "0.01", "--keep-duplicates", "--group-column", "year"]
    arguments = ["--task", "tag", *TINY, *lr, "--data", str(data), "--save", str(directory)]
    assert main(["train", *arguments]) == 0
    return directory


@pytest.fixture(scope="package")
def tagger(saved: Path) -> TextTagger:
    loaded = load(saved)
    assert isinstance(loaded, TextTagger)
    return loaded


def test_a_text_and_the_list_of_its_tokens_get_the_same_tags(tagger: TextTagger) -> None:
    from_text, from_tokens = tagger.predict(
        ["Anna Smith left Rome today.", ["Anna", "Smith", "left", "Rome", "today", "."]]
    )
    assert from_text == from_tokens
    assert from_text.tokens == ["Anna", "Smith", "left", "Rome", "today", "."]
    assert from_text.tags[:4] == ["B-PER", "I-PER", "O", "B-LOC"]
    assert len(from_text.probabilities) == 6
    assert from_text.distribution.shape == (6, len(tagger.labels))
    assert from_text.probabilities == pytest.approx(from_text.distribution.max(axis=1))
    assert from_text.unknown == 1  # the full stop
    alone = tagger.predict(["Anna Smith left Rome today."], batch_size=1)[0]
    assert alone.probabilities == pytest.approx(from_text.probabilities, abs=1e-5)


def test_tokens_beyond_its_length_are_not_tagged(tagger: TextTagger) -> None:
    (found,) = tagger.predict([["Anna"] * 40])
    assert len(found.tokens) == len(found.tags) == tagger.max_length == 24
    assert found.cut == 16


@pytest.mark.parametrize("text", ["", "  ", [], ["Anna", ""], ["\ud800"], [3]])
def test_what_has_no_tokens_is_refused(tagger: TextTagger, text: list[str]) -> None:
    with pytest.raises(ZooError, match="text 2 "):
        tagger.predict(["Anna left", text])


def test_conll_columns_in_a_table_of_tokens_and_tags_out(
    saved: Path, tmp_path: Path, capsys
) -> None:
    path = tmp_path / "some.conll"
    path.write_text("Anna x\nleft x\nRome x\n\nBen x\nSmith x\nleft x\n")
    assert main(["predict", str(saved), "--input", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["token", "tag", "probability"]
    assert [line.split()[:2] for line in lines[1:]] == [
        ["Anna", "B-PER"],
        ["left", "O"],
        ["Rome", "B-LOC"],
        [],
        ["Ben", "B-PER"],
        ["Smith", "I-PER"],
        ["left", "O"],
    ]


def test_of_conll_u_the_words_are_tagged(saved: Path, tmp_path: Path, capsys) -> None:
    path, rest = tmp_path / "some.conllu", "\t_" * 8
    path.write_text(f"1\tAnna{rest}\n2-3\tleft Rome{rest}\n2\tleft{rest}\n3\tRome{rest}\n")
    assert main(["predict", str(saved), "--input", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == ["Anna", "left", "Rome"]


def test_csv_and_json_lines_hold_the_same_tags(saved: Path, tagger: TextTagger, capsys) -> None:
    texts = ["Anna left Rome", "Ben left"]
    expected = tagger.predict(texts)
    assert main(["predict", str(saved), *texts, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["text"], row["token"], row["tag"]) for row in rows] == [
        (str(number), token, tag)
        for number, found in enumerate(expected, start=1)
        for token, tag in zip(found.tokens, found.tags, strict=True)
    ]
    assert main(["predict", str(saved), *texts, "--format", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["tags"] for line in lines] == [found.tags for found in expected]
    assert [line["tokens"] for line in lines] == [found.tokens for found in expected]
    assert main(["predict", str(saved), *texts, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == lines


def test_its_scores_are_those_of_scikit_learn_and_of_its_training(
    saved: Path, tagger: TextTagger, data: Path, capsys
) -> None:
    arguments = [str(saved), "--data", str(data), "--group-column", "year"]
    assert main(["evaluate", *arguments]) == 0
    header = "group  examples  token accuracy  macro F1  span F1"
    assert header in capsys.readouterr().out
    assert main(["evaluate", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = [json.loads(line) for line in (data / "test.jsonl").read_text().splitlines()]
    true = [tag for row in rows for tag in row["tags"]]
    texts = tagger.predict([row["tokens"] for row in rows])
    guess = [tag for text in texts for tag in text.tags]
    report = classification_report(true, guess, output_dict=True, zero_division=0)
    assert found["documents"] == 30
    assert found["token_accuracy"] == pytest.approx(report["accuracy"])
    for row in found["classes"]:
        assert row["f1"] == pytest.approx(report[row["label"]]["f1-score"])
        assert row["support"] == report[row["label"]]["support"]
    trained = tagger.card.metrics
    for name in ("token_accuracy", "macro_f1", "span_f1"):
        assert found["metrics"][name] == pytest.approx(trained[name])
    assert found["groups"] == trained["groups"]
    assert set(found["groups"]) == {"2006", "2007"}
    mistakes = sum(a != b for a, b in zip(true, guess, strict=True))
    assert len(found["mistakes"]) == min(5, mistakes)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--data", "newswire"], "holds text-labels, which --task classify reads"),
        (["--data", "DATA", "--text-column", "x"], "--text-column is no option of a tagger"),
        (["--data", "DATA", "--tags-column", "x"], "has no column 'x' (--tags-column)"),
    ],
)
def test_what_it_cannot_score_is_refused(
    saved: Path, data: Path, options: list[str], says: str, capsys
) -> None:
    arguments = [str(data) if word == "DATA" else word for word in options]
    assert main(["evaluate", str(saved), *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert says in line


def test_a_file_of_one_text_is_scored_whole(saved: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "one.conll").write_text("Anna B-PER\nleft O\nRome B-LOC\n")
    arguments = ["evaluate", str(saved), "--data", str(tmp_path / "one.conll"), "--json"]
    assert main([*arguments, "--split", "all"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["data"], found["documents"]) == ("one.conll", 1)
    assert sum(row["support"] for row in found["classes"]) == 3
    assert main(arguments) == 2  # of the test split, which one text has not
    assert "cannot be divided: it has one text; --split all" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tags", "says"),
    [
        ("B-PER B-ORG", "have a class 'B-ORG', which the model was not trained for"),
        ("-100 -100", "no token of these data has a tag that counts"),
    ],
)
def test_a_tag_that_cannot_be_scored_is_the_reason_given(
    saved: Path, tmp_path: Path, tags: str, says: str, capsys
) -> None:
    one, other = tags.split()
    (tmp_path / "one.conll").write_text(f"Anna {one}\nZoo {other}\n")
    arguments = ["--data", str(tmp_path / "one.conll"), "--split", "all"]
    assert main(["evaluate", str(saved), *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert says in line


def test_conll_columns_are_refused_by_a_classifier(trained: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "x.conll").write_text("a O\n")
    assert main(["predict", str(trained), "--input", str(tmp_path / "x.conll")]) == 2
    assert "CoNLL columns are for a model of tags" in capsys.readouterr().err


def test_its_attention_map_has_a_row_for_each_token(tagger: TextTagger) -> None:
    found = attention_map(tagger, "Anna left Rome")
    assert found.tokens == ["anna", "left", "rome"]
    assert found.weights.shape == (2, 2, 3, 3)
    assert found.weights.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)
    assert not found.all_unknown
    assert attention_map(tagger, "%").all_unknown


def test_a_mistake_is_shown_among_its_neighbours(saved: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "one.conll").write_text("Anna B-LOC\nleft -100\nRome B-LOC\ntoday O\n")
    arguments = ["--data", str(tmp_path / "one.conll"), "--split", "all", "--json"]
    assert main(["evaluate", str(saved), *arguments]) == 0
    (mistake,) = json.loads(capsys.readouterr().out)["mistakes"]
    assert mistake["text"] == "[Anna] left Rome"
    assert (mistake["label"], mistake["predicted"]) == ("B-LOC", "B-PER")
