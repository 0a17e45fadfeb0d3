"""Cross-validation keeps near-duplicates together and never sees the test split."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench.cross_validate import as_table, folds_of, main, near_duplicates
from zoo.data.sources.corpus import Corpus
from zoo.sweep.records import RecordFile

STORIES = [f"{topic} story {n} tells of {topic}{n} and its {w}" for n in range(20)
           for topic, w in (("sport", "match"), ("market", "profit"))]  # fmt: skip
LABELS = [0, 1] * 20
SUITE = """
dim = 8
heads = 2
ffn_dim = 8
layers = 1
max_length = 12
vocab_size = 120
epochs = 1
device = "cpu"
threads = 1
baseline = "tfidf-logreg(whole=False)"
"""


@pytest.fixture
def corpus() -> Corpus:
    texts, labels = list(STORIES), list(LABELS)
    for row in (0, 1, 4):  # the same stories, told again with a word more
        texts += [texts[row] + " again", texts[row] + " today"]
        labels += [labels[row]] * 2
    test = ["sport match test", "market profit test", texts[7]]
    return Corpus("stories", texts, labels, test, [0, 1, labels[7]], ["sport", "market"])


def test_near_duplicates_have_one_group_and_others_their_own(corpus):
    groups = near_duplicates(corpus.train_texts)
    for number, row in enumerate((0, 1, 4)):
        again = 40 + 2 * number
        assert groups[row] == groups[again] == groups[again + 1]
    assert len(set(groups.tolist())) == 40


def test_every_document_is_held_out_once_a_division_and_groups_stay_together(corpus):
    groups = near_duplicates(corpus.train_texts)
    folds = list(folds_of(corpus.train_labels, groups, 4, 2))
    assert [(fold.division, fold.number) for fold in folds] == [
        (division, number) for division in (1, 2) for number in (1, 2, 3, 4)
    ]
    for division in (1, 2):
        parts = [fold for fold in folds if fold.division == division]
        held_out = np.concatenate([fold.held_out for fold in parts])
        assert sorted(held_out.tolist()) == list(range(len(groups)))
    for fold in folds:
        assert not set(fold.train) & set(fold.held_out)
        assert not set(groups[fold.train]) & set(groups[fold.held_out])
        assert {corpus.train_labels[row] for row in fold.held_out} == {0, 1}
    assert folds[0].held_out.tolist() != folds[4].held_out.tolist()


def test_settings_are_compared_on_the_training_documents_alone(corpus, tmp_path, capsys):
    data, suite, out = tmp_path / "data", tmp_path / "suite.toml", tmp_path / "out"
    data.mkdir()
    suite.write_text(SUITE)
    for split, texts, labels in corpus.splits():
        rows = [{"text": t, "label": corpus.label_names[n]} for t, n in
                zip(texts, labels, strict=True)]  # fmt: skip
        (data / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ["--suite", str(suite), "--data", str(data), "--folds", "2", "--on", "inline"]
    words += ["--try", "lr=1e-9", "--try", "lr=0.01,epochs=2", "--out", str(out)]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "45 training documents, 6 of them near-duplicates" in shown  # one is in the test split
    values = dict(_rows(shown))
    assert set(values) == {"lr=1e-9", "lr=0.01,epochs=2", "tfidf-logreg"}
    for setting in ("lr-1e-9", "lr-0.01-epochs-2"):
        right = 0.0
        for number in (1, 2):
            place = out / f"division1-fold{number}"
            size = len((place / "data" / "test.jsonl").read_text().splitlines())
            (record,) = [r for r in RecordFile(place / setting).read() if r.cell]
            right += size * record.metrics["accuracy"]
        name = setting.replace("lr-", "lr=", 1).replace("-epochs-", ",epochs=")
        assert values[name] == pytest.approx(right / 45, abs=1e-4)
    held_out = [(out / f"division1-fold{n}" / "data" / "test.jsonl").read_text() for n in (1, 2)]
    assert "sport match test" not in "".join(held_out)


def _rows(shown: str) -> list[tuple[str, float]]:
    lines = shown.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("----"))
    return [(line.split("  ")[0].strip(), float(line.split()[-1])) for line in lines[start + 1 :]]


def test_a_mean_is_over_documents_and_then_over_divisions():
    found = {(1, "a"): [(10, 0.5), (30, 0.9)], (2, "a"): [(20, 0.6), (20, 0.6)]}
    assert dict(_rows(as_table(found)))["a"] == pytest.approx((0.8 + 0.6) / 2)


@pytest.mark.parametrize(
    ("words", "says"),
    [(["--try", "lr"], "'lr' is not NAME=VALUE"), (["--try", "pe=rope,attention=naive/x"], "'x'")],
)
def test_wrong_settings_end_in_one_line(words, says, tmp_path, capsys):
    suite = tmp_path / "suite.toml"
    suite.write_text(SUITE)
    out = ["--out", str(tmp_path / "out"), "--on", "inline"]
    data = ["--data", "newswire(train=30,test=10)", "--suite", str(suite)]
    assert main([*words, *data, *out]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
