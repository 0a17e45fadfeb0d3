"""Settings with several values: each row gets the one that is best on a held-out part."""

import csv
import random
from typing import Any

import pytest
from refused import refused
from small_runs import CLASSIFY, bench

from zoo.config.metric_description import MetricDescription
from zoo.report.run_report import RunReport
from zoo.sweep.make_request import make_request
from zoo.sweep.plan import make_plan
from zoo.sweep.records import Record

VALUES = (1e-7, 0.01)
ACCURACY = MetricDescription(name="accuracy", label="accuracy")
BITS = MetricDescription(
    name="bits_per_byte", label="bits per byte", higher_is_better=False, highest=None
)
TUNED = {
    **CLASSIFY,
    "attention": "fused,naive",
    "baseline": "tfidf-logreg(whole=True)",
    "lr": list(VALUES),
    "phases": "train",
}


@pytest.fixture(scope="module")
def records(corpus, tmp_path_factory) -> list[Record]:
    out = tmp_path_factory.mktemp("tuned")
    return bench(out, {**TUNED, "data": str(corpus), "seeds": 2}).records


def score(records: list[Record]) -> dict[tuple[Any, ...], float]:
    return {
        (r.kind, r.name, r.seed, r.config["training"]["lr"]): r.metrics["accuracy"] for r in records
    }


def test_every_cell_has_the_same_trials_and_trains_the_best_on_the_held_out_part(records):
    """A baseline that fits itself has no trials."""
    trials = [(r.name, r.seed, r.config["training"]["lr"]) for r in records if r.kind == "tune"]
    cells = list(dict.fromkeys(r.name for r in records if r.cell))
    assert len(cells) == 2
    assert trials == [(name, 0, lr) for name in cells for lr in VALUES]
    for record in (r for r in records if r.kind == "train" and r.cell):
        scores = {
            r.config["training"]["lr"]: r.metrics["accuracy"]
            for r in records
            if r.kind == "tune" and r.name == record.name
        }
        assert record.config["training"]["lr"] == max(scores, key=lambda lr: scores[lr])
        assert record.config["training"]["validation"] == 0.0
        assert record.metrics["scored"] == "test"


@pytest.mark.parametrize(
    ("first", "second", "description", "chosen"),
    [(0.9, 0.91, ACCURACY, 1), (1.0, 1.0, ACCURACY, 0), (2.1, 2.0, BITS, 1)],
)
def test_the_best_value_is_chosen_and_of_equal_ones_the_first(
    registry, first, second, description, chosen
):
    request = make_request({**TUNED, "attention": "fused", "baseline": "none"}, registry)
    plan = make_plan(request, registry)
    (row,) = plan.runnable
    records = [
        Record(
            kind="tune",
            status="ok",
            cell=row.cell_names,
            key=str(score),
            config={"training": training.model_dump()},
            metrics={description.name: score},
        )
        for training, score in zip(request.trainings(), (first, second), strict=True)
    ]
    assert plan.chosen_settings(records, description) == {row.name: request.trainings()[chosen]}


def test_trials_and_trainings_are_those_of_runs_with_one_value(records, corpus, tmp_path):
    """What a tuned run records is what a run with a single value gives; commands say so."""
    one = {**TUNED, "data": str(corpus), "attention": "fused", "baseline": "none"}
    trial = next(r for r in records if r.kind == "tune" and r.cell["attention"] == "fused")
    lr = trial.config["training"]["lr"]
    (held_out,) = bench(tmp_path / "a", {**one, "lr": lr, "validation": 0.2}).records
    assert held_out.metrics["accuracy"] == trial.metrics["accuracy"]
    assert f"--lr {lr:g} " in trial.command
    assert "--validation 0.2" in trial.command
    final = next(r for r in records if r.kind == "train" and r.name == trial.name)
    chosen = final.config["training"]["lr"]
    alone = bench(tmp_path / "b", {**one, "lr": chosen, "seeds": 2}).records
    assert {r.seed: r.metrics["errors"] for r in alone} == {
        r.seed: r.metrics["errors"] for r in records if r.kind == "train" and r.name == trial.name
    }
    assert "--validation" not in final.command


def test_the_choice_does_not_depend_on_the_labels_of_the_test_split(records, corpus, tmp_path):
    poisoned = tmp_path / "poisoned"
    poisoned.mkdir()
    (poisoned / "train.csv").write_text((corpus / "train.csv").read_text())
    rows = list(csv.DictReader((corpus / "test.csv").open()))
    labels = [row["label"] for row in rows]
    random.Random(0).shuffle(labels)
    with (poisoned / "test.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "label": label} for row, label in zip(rows, labels, strict=True))
    options = {**TUNED, "attention": "fused", "data": str(poisoned), "seeds": 2}
    wrong = score(bench(tmp_path / "out", options).records)
    clean = score([r for r in records if r.cell.get("attention") != "naive"])
    assert {key: v for key, v in clean.items() if key[0] == "tune"} == {
        key: v for key, v in wrong.items() if key[0] == "tune"
    }
    assert clean.keys() == wrong.keys()  # the same values were chosen
    assert clean != wrong


def test_a_second_run_trains_nothing_and_a_wider_directory_is_refused(records, corpus, tmp_path):
    options = {**TUNED, "attention": "fused", "data": str(corpus)}
    first = bench(tmp_path, options)
    assert first.trained == 2 + 2
    again = bench(tmp_path, options)
    assert again.trained == 0
    assert again.records == first.records
    refused("choose another directory", bench, tmp_path, {**options, "lr": [1e-7, 0.02]})
    same = bench(tmp_path, {**options, "lr": list(reversed(VALUES))})
    assert same.trained == 0  # the order of the values does not matter
    refused("choose another directory", bench, tmp_path, {**options, "lr": 0.01})


def test_a_row_none_of_whose_trials_ends_well_says_so(corpus, tmp_path):
    outcome = bench(
        tmp_path,
        {
            **TUNED,
            "data": str(corpus),
            "lr": [1e30, 1e31],
            "attention": "fused",
            "max_grad_norm": 0,
        },
    )
    report = RunReport(outcome.records)
    assert [row.status for row in report.rows] == ["ok", "diverged"]
    assert "the loss became" in report.table.frame["reason"][1]
    assert [r.kind for r in outcome.records if r.status != "ok"] == ["tune", "tune"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"lr": "1e-3,abc"}, "--lr abc"),
        ({"lr": "1e-3,,1e-2"}, "an empty name beside a comma"),
        ({"lr": "1e-3,0"}, "greater than 0"),
        ({"lr": "1e-3,1e-2", "validation": 0.1}, "use one of the two"),
    ],
)
def test_bad_values_are_one_line(options, says, tmp_path):
    refused(says, bench, tmp_path, {**CLASSIFY, "data": "order(train=60,test=12)", **options})
