"""Reports and comparisons of any task, from what its records say of its metrics alone."""

import json
import re

from factory import (
    CONFIG,
    caption,
    cell,
    lm,
    make_table,
    printed,
    record,
    train_record,
    with_config,
    write_records,
)
from refused import refused
from statsmodels.stats.proportion import proportion_confint

from zoo.config.metric_description import MetricDescription
from zoo.report.compare import why_not_comparable
from zoo.report.page import run_text
from zoo.report.rows import make_rows
from zoo.report.run_report import RunReport

NOISE = (0.001, -0.002, 0.0005, 0.0015, -0.001)
ROPE, SIN, NONE = (cell(pe=pe) for pe in ("rope", "sin", "none"))
EXACT = MetricDescription(name="exact_match", label="exact match", scored="pairs", paired=True)
# A task that no part of encoder-zoo knows: a mean distance in metres, lower is better.
DISTANCE = MetricDescription(
    name="mean_distance",
    label="distance",
    higher_is_better=False,
    digits=2,
    unit="m",
    scale=1,
    unit_digits=2,
    highest=None,
    scored="routes",
)
# And one of which each example is right or wrong.
ARRIVED = MetricDescription(
    name="arrived", label="arrived", digits=4, unit="per mille", scale=1000, scored="routes",
    paired=True,
)  # fmt: skip


def of_task(task, descriptions, row, all_metrics, **config):
    """Training records of one row, one for each seed's metrics."""
    return [
        record(
            "train",
            cell=dict(row),
            seed=seed,
            config={**CONFIG, "task": task, **config},
            metric_descriptions=descriptions,
            metrics=metrics,
        )
        for seed, metrics in enumerate(all_metrics)
    ]


def bits(row, mean, noises=NOISE):
    return lm(row, [mean + noise for noise in noises])


def seq2seq(row, wrong):
    errors = [[index] for index in range(wrong)]
    metrics = {"exact_match": 1 - wrong / 100, "examples": 100, "errors": errors}
    return of_task("seq2seq", (EXACT,), row, [metrics] * 3)


def navigate(row, distance, noises=NOISE):
    data = {"name": "city", "fingerprint": "0123456789abcdef", "summary": "90 routes of one city"}
    metrics = [{"mean_distance": distance + noise, "examples": 90} for noise in noises]
    return of_task("navigate", (DISTANCE,), row, metrics, data=data, sizes={}, training={})


def arrive(row, wrong):
    metrics = {
        "arrived": 1 - wrong / 200,
        "mean_distance": 3.0,
        "examples": 200,
        "errors": [[index, "the wrong street"] for index in range(wrong)],
    }
    return of_task("navigate", (ARRIVED, DISTANCE), row, [metrics] * 4)


def test_fewer_bits_rank_first_and_equal_ones_tie():
    records = [*bits(NONE, 2.5), *bits(SIN, 2.0), *bits(ROPE, 2.0001, NOISE[::-1])]
    table = make_table(records)
    assert list(table["pe"]) == ["sin", "rope", "none"]
    assert list(table["rank"]) == [1, 1, 3]
    assert "accuracy_mean" not in table.columns
    # It is not a share: the interval is not cut at 1, and there is no test over examples.
    assert table["bits_per_byte_low"][0] < 2.0 < table["bits_per_byte_high"][0]
    notes = caption(records)
    assert "Lower bits/byte is better." in notes
    assert "McNemar" not in notes
    assert "Test set" not in notes


def test_what_is_scored_has_the_name_it_has_in_its_task():
    records = with_config([*seq2seq(NONE, 9), *seq2seq(SIN, 2)], "training", validation=0.1)
    notes = caption(records)
    assert "McNemar's test over the pairs on which two rows disagree" in notes
    assert "Test set: 100 pairs." in notes
    assert "scored on 10% of the training pairs" in run_text(RunReport(records))
    other = seq2seq(NONE, 9)[0]
    assert why_not_comparable(records[0], other) == "other validation share: 0.1 against 0.0"
    whole = bits(NONE, 2.5)[0]
    (fewer,) = with_config([whole], "data", train=7)
    assert why_not_comparable(fewer, whole).startswith("other training split: 7 against")


def test_records_of_two_tasks_have_no_common_table():
    records = [train_record(SIN, 0, 10), *bits(ROPE, 2.0)]
    refused("records of classify and lm: a table has one task", make_rows, records)


def test_an_unknown_task_is_reported_by_what_its_records_say(tmp_path, said):
    records = [*navigate(NONE, 12.5), *navigate(SIN, 3.25), *navigate(ROPE, 3.2501, NOISE[::-1])]
    directory = write_records(tmp_path / "run", records)
    shown = said("report", directory).out
    assert "distance" in shown
    assert "3.25 ± 0.00" in shown
    assert "McNemar" not in shown
    shown = (directory / "table.md").read_text()
    assert "Lower distance is better." in shown
    assert "90 routes of one city" in shown
    assert "McNemar" not in shown
    printed = json.loads(said("report", directory, "--tables", "--json").out)
    ranks = {row["pe"]: row["rank"] for row in printed["rows"]}
    assert list(ranks.items()) == [("sin", 1), ("rope", 1), ("none", 3)]
    page = (directory / "report.html").read_text()
    assert "Use sin: distance 3.25 ± 0.00. Not told apart from sin: rope." in page
    assert "accuracy" not in page


def test_an_unknown_paired_metric_is_tested_over_its_examples():
    records = [*arrive(ROPE, 20), *arrive(SIN, 21), *arrive(NONE, 90)]
    table = make_table(records)
    # Four seeds without any spread: the t-test alone would call rope and sin different.
    assert list(table["rank"]) == [1, 1, 3]
    assert list(table["mean_distance_mean"]) == [3.0] * 3
    assert "distance" in printed(records)
    # No row has any spread, so the interval is that of 200 routes with each of 4 seeds.
    low, high = proportion_confint(720, 800, method="wilson")
    wider = table["arrived_high"][0] - table["arrived_low"][0]
    assert wider >= high - low
    notes = caption(records)
    assert "McNemar's test over the routes" in notes
    assert "Test set: 200 routes." in notes
    assert "per mille (95%, Wilson)" in notes


def test_an_unknown_task_is_compared_in_its_own_direction(tmp_path, said):
    before = write_records(tmp_path / "a", [*navigate(SIN, 3.25), *navigate(NONE, 12.5)])
    after = write_records(tmp_path / "b", [*navigate(SIN, 5.0), *navigate(NONE, 11.0)])
    shown = said("compare", before, after).out
    assert "distance before" in shown
    lines = shown.splitlines()
    (worse,) = (line for line in lines if line.endswith("worse"))
    (better,) = (line for line in lines if line.endswith("better"))
    assert "+1.75 ± 0.00 m" in worse
    assert "-1.50 ± 0.00 m" in better
    paired = [
        write_records(tmp_path / side, arrive(SIN, wrong)) for side, wrong in (("c", 20), ("d", 90))
    ]
    shown = said("compare", *paired).out
    assert re.search(r"-350\.0 ± \d+\.\d per mille +worse", shown)
