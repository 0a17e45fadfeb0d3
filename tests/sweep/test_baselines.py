"""What baselines read, which of them a table has, and what is said of the data."""

import csv
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from small_runs import CLASSIFY, COMMON, FAILING, Notices, bench, prepared
from tokenizers import Tokenizer

from zoo.report.run_report import RunReport
from zoo.sweep.records import Record, RecordFile
from zoo.sweep.run import Run

LENGTH = 12  # tokens that a cell reads, [CLS] included
LABELS = {"ham": "pig", "spam": "can"}  # class to the last word of its texts
# It knows nothing of cutting: it looks up the last word of what it is given.
PLUGIN = """
from collections import Counter, defaultdict

from zoo import hookimpl


class LastWord:
    def fit(self, texts, labels):
        self.seen = defaultdict(Counter)
        for text, label in zip(texts, labels):
            self.seen[text.split()[-1]][label] += 1
        self.usual = Counter(labels).most_common(1)[0][0]

    def predict(self, texts):
        last = [self.seen.get(text.split()[-1]) for text in texts]
        return [seen.most_common(1)[0][0] if seen else self.usual for seen in last]


@hookimpl
def zoo_register(register):
    register("baseline", "last-word", LastWord, summary="looks the last word up",
             capabilities=("texts",))
"""
SMALL: dict[str, Any] = {**CLASSIFY, "max_length": LENGTH, "epochs": 1, "phases": "train"}
SMALL["baseline"] = "tfidf-logreg"


def write_texts(directory: Path, counts: dict[str, tuple[int, int]], words: int = 30) -> Path:
    """Texts of common words whose last word alone tells the class, so many of each split."""
    draw = random.Random(0)
    directory.mkdir(parents=True, exist_ok=True)
    for place, split in enumerate(("train", "test")):
        with (directory / f"{split}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            for label, numbers in counts.items():
                for _ in range(numbers[place]):
                    text = " ".join([*draw.choices(COMMON, k=words), LABELS[label]])
                    writer.writerow([f"  {text} ", label])
    return directory


@pytest.fixture(scope="module")
def plugin(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("plugin") / "last_word.py"
    file.write_text(PLUGIN)
    return file


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """75% of the training texts are of one class, and all texts are cut."""
    return write_texts(tmp_path_factory.mktemp("data"), {"ham": (45, 14), "spam": (15, 6)})


@pytest.fixture(scope="module")
def notices() -> Notices:
    return Notices()


@pytest.fixture(scope="module")
def outcome(data, plugin, notices, tmp_path_factory) -> Run:
    options = {
        **SMALL,
        "data": str(data),
        "baseline": "tfidf-logreg,last-word,majority",
        "seeds": 3,
    }
    out = tmp_path_factory.mktemp("run") / "out"
    return bench(out, options, plugins=(plugin,), progress=notices)


def baselines(outcome: Run) -> dict[str, Record]:
    """Row to its last training record."""
    return {r.name: r for r in outcome.records if r.baseline and r.kind == "train"}


def texts_of(data: Path, split: str) -> tuple[list[str], list[int]]:
    table = pd.read_csv(data / f"{split}.csv")
    return list(table["text"]), [sorted(LABELS).index(label) for label in table["label"]]


def cut(outcome: Run, texts: list[str]) -> list[str]:
    """Cut by the tokenizer's own truncation, and not by the zoo's."""
    loaded = outcome.prepared.loaded
    assert loaded is not None
    tokenizer = Tokenizer.from_file(str(loaded.encoded.tokenizer_path))
    tokenizer.enable_truncation(LENGTH)
    return [text[: tokenizer.encode(text).offsets[-1][1]] for text in texts]


@pytest.mark.parametrize("whole", [False, True])
def test_a_bag_of_words_is_that_of_scikit_learn_on_the_texts_that_it_reads(whole, outcome, data):
    record = baselines(outcome)["tfidf-logreg(whole=True)" if whole else "tfidf-logreg"]
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    model = make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=1000))
    (texts, labels), (scored, true) = texts_of(data, "train"), texts_of(data, "test")
    assert all(short != text for short, text in zip(cut(outcome, texts), texts, strict=True))
    model.fit(texts if whole else cut(outcome, texts), labels)
    predicted = model.predict(scored if whole else cut(outcome, scored))
    wrong = np.flatnonzero(predicted != np.array(true))
    assert [error[0] for error in record.metrics["errors"]] == wrong.tolist()
    assert record.metrics["params"] == model[-1].coef_.size + 1
    assert (record.metrics["accuracy"] == 1) == whole


def test_a_deterministic_fit_is_made_once_and_called_that(outcome):
    trained = Counter(r.name for r in outcome.records if r.kind == "train")
    assert trained["tfidf-logreg"] == trained["majority"] == 1
    # It does not say that the seed changes nothing, and is fitted with each; its predictions do.
    assert trained["last-word"] == 3
    report = RunReport(outcome.records)
    (row,) = (row for row in report.rows if row.name == "majority")
    assert row.values == dict.fromkeys((0, 1, 2), 14 / 20)  # it pairs with the seeds of all rows


DRAWS = """
import random

import numpy
import torch
from zoo import part

@part("baseline", "draws", adds=("texts",))
class Draws:
    '''It draws from every generator.'''

    def fit(self, texts, labels):
        self.first = self.draw()

    def predict(self, texts):
        return [(self.first + self.draw()) % 2 for _ in texts]

    def draw(self):
        return random.getrandbits(1) + numpy.random.randint(2) + int(torch.randint(2, ()))
"""


def test_one_seed_gives_one_model_whatever_generator_a_baseline_draws_from(data, tmp_path):
    file = tmp_path / "draws.py"
    file.write_text(DRAWS)
    options = {**SMALL, "data": str(data), "baseline": "draws(whole=True)", "seeds": 2}
    errors = []
    for run in ("one", "two"):
        found = bench(tmp_path / run, options, plugins=(file,)).records
        errors.append([r.metrics["errors"] for r in found if r.baseline])
    assert errors[0] == errors[1]
    assert errors[0][0] != errors[0][1]


def test_what_is_cut_is_recorded_and_said_with_the_answer(outcome, notices, data):
    description = outcome.records[0].config["data"]
    text = "\n".join(RunReport(outcome.records).notes)
    assert set(description["remarks"]) < set(RunReport(outcome.records).notes)
    assert f"of all tokens are beyond the first {LENGTH} of their text" in text
    assert "of all tokens" not in "".join(notices.lines), "what is under the table is said once"


def test_where_nothing_is_cut_each_baseline_is_one_row(tmp_path):
    even = write_texts(tmp_path / "data", {"ham": (12, 4), "spam": (12, 4)}, words=5)
    found = bench(tmp_path / "out", {**SMALL, "data": str(even), "max_length": 64})
    assert list(baselines(found)) == ["tfidf-logreg"]
    assert baselines(found)["tfidf-logreg"].metrics["accuracy"] == 1
    assert found.records[0].config["data"]["remarks"] == []


@pytest.mark.parametrize(
    ("baseline", "rows"),
    [
        ("none", []),
        ("tfidf-logreg(whole=False)", ["tfidf-logreg"]),
        ("tfidf-logreg(whole=True)", ["tfidf-logreg(whole=True)"]),
        (
            "tfidf-logreg(c=1.0),tfidf-logreg(c=1.0, whole=True)",
            ["tfidf-logreg(c=1.0)", "tfidf-logreg(c=1.0, whole=True)"],
        ),
    ],
)
def test_a_baseline_that_says_what_it_reads_is_one_row(baseline, rows, data):
    found = prepared({**SMALL, "data": str(data), "baseline": baseline})
    assert [row.name for row in found.plan.rows[1:]] == rows


def test_a_plan_says_which_rows_depend_on_the_data(said):
    printed = said("bench", "--data", "newswire", "--plan").out
    lines = {line.split()[0]: line for line in printed.splitlines() if line}
    assert lines["tfidf-logreg"].endswith(" run")
    assert lines["tfidf-logreg(whole=True)"].endswith("run if some texts are cut")
    assert "3 to run, 0 skipped" in printed


def test_the_metric_that_ranks_can_be_chosen(outcome, said, refused_command):
    words = [outcome.file.directory, "--tables", "--json"]
    for metric, more in (("accuracy", []), ("macro_f1", ["--metric", "macro_f1"])):
        rows = json.loads(said("report", *words, *more).out)["rows"]
        found = [row[f"{metric}_mean"] for row in rows if row["baseline"]]
        assert found == sorted(found, reverse=True)
        cell = next(row for row in rows if not row["baseline"])
        assert cell[f"{metric}_low"] <= cell[f"{metric}_mean"] <= cell[f"{metric}_high"]
        assert ("accuracy_low" in rows[0]) == (metric == "accuracy")
    assert RunReport(outcome.records, metric="macro_f1").table.text().split()[2:6] == [
        "rank", "macro", "F1", "accuracy",
    ]  # fmt: skip
    both = [outcome.file.directory] * 2
    assert "macro F1 before" in said("compare", *both, "--metric", "macro_f1").out
    for command in (["report", both[0]], ["compare", *both], ["bench", "--plan"]):
        line = refused_command(*command, "--metric", "macro-f")
        assert "no such metric; did you mean 'macro_f1'? There is: accuracy, macro_f1" in line


def test_no_cost_is_measured_where_every_training_failed(data, tmp_path):
    """A baseline that fits itself remains; it has none."""
    options = {**SMALL, "data": str(data), "attention": "raises", "seeds": 2}
    options |= {"phases": ("train", "cost"), "baseline": "majority"}
    for _ in range(2):
        found = bench(tmp_path / "out", options, plugins=(FAILING,))
        (cost,) = (r for r in found.records if r.kind == "cost")
        assert (cost.status, cost.reason) == ("skipped", "every training of it failed")
        assert found.measured == 0
    assert sum(r.kind == "cost" for r in RecordFile(tmp_path / "out").read()) == 1
    assert RunReport(found.records).table.frame["status"].tolist() == ["ok", "crashed"]
