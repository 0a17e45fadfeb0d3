"""A saved tagger: texts or CoNLL columns in, a tag for every token out, scores by group."""

import json
import random
from pathlib import Path

import pytest
from refused import refused
from saved_models import TINY, train, weights_of
from sklearn.metrics import classification_report

from zoo.inference.attention_map import attention_map
from zoo.inference.saved_model import load
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
def data(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("tagged")
    for split, rows in (("train", sentences(150, 0)), ("test", sentences(30, 1))):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (directory / f"{split}.jsonl").write_text(text)
    return directory


@pytest.fixture(scope="package")
def saved(data, tmp_path_factory, _isolated) -> Path:
    directory = tmp_path_factory.mktemp("tagger") / "model"
    options = ["--lr", 0.01, "--keep-duplicates", "--group-column", "year"]
    return train(directory, "--task", "tag", *TINY, *options, "--data", data)


@pytest.fixture(scope="package")
def tagger(saved) -> TextTagger:
    return load(saved)


def test_a_text_and_the_list_of_its_tokens_get_the_same_tags(tagger):
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


def test_tokens_beyond_its_length_are_not_tagged(tagger):
    (found,) = tagger.predict([["Anna"] * 40])
    assert len(found.tokens) == len(found.tags) == tagger.max_length == 24
    assert found.cut == 16


@pytest.mark.parametrize("text", [None, ["Anna", ""], ["\ud800"], [3]])
def test_what_is_no_text_is_refused(tagger, text):
    refused(r"text 2\b", tagger.predict, ["Anna left", text])


def test_conll_columns_in_a_table_of_tokens_and_tags_out(saved, tmp_path, said):
    path = tmp_path / "some.conll"
    path.write_text("Anna x\nleft x\nRome x\n\nBen x\nSmith x\nleft x\n")
    lines = said("predict", saved, "--input", path).out.splitlines()
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


def test_of_conll_u_the_words_are_tagged(saved, tmp_path, said):
    path, rest = tmp_path / "some.conllu", "\t_" * 8
    path.write_text(f"1\tAnna{rest}\n2-3\tleft Rome{rest}\n2\tleft{rest}\n3\tRome{rest}\n")
    lines = said("predict", saved, "--input", path).out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == ["Anna", "left", "Rome"]


def test_json_lines_hold_the_tags(saved, tagger, rows):
    texts = ["Anna left Rome", "Ben left"]
    expected = tagger.predict(texts)
    lines = rows(saved, *texts)
    assert [line["tags"] for line in lines] == [found.tags for found in expected]
    assert [line["tokens"] for line in lines] == [found.tokens for found in expected]


def test_its_scores_are_those_of_scikit_learn_and_of_its_training(
    saved, tagger, data, said, answer
):
    command = ["evaluate", saved, "--data", data, "--group-column", "year"]
    assert "group  examples  token accuracy  macro F1  span F1" in said(*command).out
    found = answer(*command)
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
    assert set(answer(*command, "--split", "train")["groups"]) == {"2006", "2007"}
    mistakes = sum(a != b for a, b in zip(true, guess, strict=True))
    assert len(found["mistakes"]) == mistakes


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--data", "newswire"], "holds text-labels, which --task classify reads"),
        (["--data", "DATA", "--text-column", "x"], "--text-column is no option of a tagger"),
    ],
)
def test_what_it_cannot_score_is_refused(saved, data, options, says, refused_command):
    arguments = [str(data) if word == "DATA" else word for word in options]
    assert says in refused_command("evaluate", saved, *arguments)


def test_a_file_of_one_text_is_scored_whole(saved, tmp_path, answer, refused_command):
    (tmp_path / "one.conll").write_text("Anna B-PER\nleft O\nRome B-LOC\n")
    command = ["evaluate", saved, "--data", tmp_path / "one.conll"]
    found = answer(*command, "--split", "all")
    assert (found["data"], found["documents"]) == ("one.conll", 1)
    assert sum(row["support"] for row in found["classes"]) == 3
    # Of the test split, which one text has not.
    assert "cannot be divided: 1 of its texts are too few" in refused_command(*command)


@pytest.mark.parametrize(
    ("tags", "says"),
    [
        ("X-ORG B-ORG", "has 'B-ORG' (1) and 'X-ORG' (1), which the model was not trained for"),
        ("-100 -100", "no token of these data has a tag that counts"),
    ],
)
def test_a_tag_that_cannot_be_scored_is_the_reason_given(
    saved, tmp_path, tags, says, refused_command
):
    one, other = tags.split()
    (tmp_path / "one.conll").write_text(f"Anna {one}\nZoo {other}\n")
    arguments = ["--data", str(tmp_path / "one.conll"), "--split", "all"]
    assert says in refused_command("evaluate", saved, *arguments)


def test_conll_columns_are_refused_by_a_classifier(trained, tmp_path, refused_command):
    (tmp_path / "x.conll").write_text("a O\n")
    line = refused_command("predict", trained, "--input", tmp_path / "x.conll")
    assert "CoNLL columns are for a model of tags" in line


def test_its_attention_map_has_a_row_for_each_token(tagger):
    found = attention_map(tagger, "Anna left Rome")
    assert found.tokens == ["anna", "left", "rome"]
    assert weights_of(found).shape == (2, 2, 3, 3)
    assert weights_of(found).sum(axis=-1) == pytest.approx(1.0, abs=1e-5)
    assert (found.unknown, attention_map(tagger, "%").unknown) == (0, 1)


def test_a_text_without_tokens_has_no_tags_and_is_named(tagger):
    with pytest.warns(UserWarning, match="no tokens in text 2 and 3: there is no tag$"):
        full, blank, none = tagger.predict(["Anna left", " ", []])
    assert (blank.tokens, blank.tags, none.tags) == ([], [], [])
    assert none.distribution.shape == (0, len(tagger.labels))
    (alone,) = tagger.predict(["Anna left"])
    assert alone.tags == full.tags


def test_a_mistake_is_shown_among_its_neighbours(saved, tmp_path, answer):
    (tmp_path / "one.conll").write_text("Anna B-LOC\nleft -100\nRome B-PER\ntoday O\n")
    found = answer("evaluate", saved, "--data", tmp_path / "one.conll", "--split", "all")
    shown = {m["text"]: (m["label"], m["predicted"]) for m in found["mistakes"]}
    assert shown == {
        "[Anna] left Rome": ("B-LOC", "B-PER"),
        "Anna left [Rome] today": ("B-PER", "B-LOC"),
    }
