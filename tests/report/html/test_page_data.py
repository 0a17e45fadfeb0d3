"""What the page shows, as plain values: rows, details of a row, its command, environments."""

import numpy as np
import pytest
from example import run
from factory import CLASSIFY, failed, record
from large_run import large_run
from rendered import rendered

from zoo.report.html.page_data import lines_of, row_command
from zoo.report.rows import environment_of, make_rows
from zoo.report.run_report import RunReport


def details_of(made):
    """Row to its details."""
    return {made.rows[line["number"]].name: line["details"] for line in lines_of(made)}


def test_details_hold_the_numbers_of_the_records():
    made = rendered("small").run
    details = details_of(made)
    for row in made.rows:
        found = details[row.name]
        assert found["seeds"] == {str(s): f"{v:.3f}" for s, v in row.values.items()}


def test_a_deterministic_fit_is_one_value():
    *cells, fit, _, _ = large_run(cells=3, seeds=3, examples=200)  # one fit for all three seeds
    fit.metrics["deterministic"] = True
    made = RunReport([*cells, fit])
    found = details_of(made)[made.recorded_rows[-1].name]
    ((seed, value),) = found["seeds"].items()
    assert seed == "any (a deterministic fit)"
    assert value in found["summary"]


PARTS = "zoo bench --attention fused --pe rope"


@pytest.mark.parametrize(
    ("seeds", "command", "shown"),
    [
        ([0, 1, 2], "", f"{PARTS} --seeds 3 --data data/bbc-news"),
        ([1, 4], "", f"{PARTS} --seed 1 --seed 4 --data data/bbc-news"),
        ([0], "zoo bench --attention 'x", "zoo bench --attention 'x"),
        ([0, 1], "zoo bench --pe sin", "zoo bench --pe sin"),
        ([], "", "zoo bench --data data/bbc-news"),
    ],
    ids=["all seeds", "some", "not a shell's", "no seed", "cost alone"],
)
def test_a_rows_command_repeats_all_its_seeds(seeds, command, shown):
    records = [r for r in large_run(cells=1, seeds=5) if r.kind == "cost" or r.seed in seeds]
    if command:
        records = [r.model_copy(update={"command": command}) for r in records]
    assert row_command(make_rows(records)[0]) == shown


def test_what_failed_is_said_once_for_all_its_seeds():
    parts = run()[0].cell
    crashes = [failed(parts, seed) for seed in (7, 8)]
    slow = record("cost", "timeout", cell=parts, reason="too long")
    skipped = record("train", "skipped", cell={**parts, "pe": "alibi"}, reason="no bias")
    details = details_of(RunReport([*run(), *crashes, slow, skipped]))
    failures = [found["failures"] for found in details.values() if found["failures"]]
    assert failures == [
        ["seed 7, 8: crashed: it did not end well", "cost timeout: too long"],
        ["skipped: no bias"],
    ]


def test_environments_are_there_once_with_every_value():
    records = large_run(cells=2, seeds=3, failures=False)
    other = {**records[0].environment, "threads": 8}
    mixed = [records[0].model_copy(update={"environment": other}), *records[1:]]
    assert environment_of([*mixed, mixed[0]]).items() >= {
        ("torch", "2.13.0"),
        ("threads", "8; 2"),
        ("git dirty", "False"),
    }
    assert environment_of(records)["threads"] == "2"


def test_a_metric_may_be_called_like_another_column():
    """Numbers are looked up by their key, whatever is printed above them."""
    named = [
        metric.model_copy(update={"label": label})
        for metric, label in zip(CLASSIFY, ("seeds", "memory MiB"), strict=True)
    ]
    made = RunReport(
        [
            one.model_copy(update={"metric_descriptions": tuple(named)})
            for one in large_run(cells=3, seeds=3, failures=False)
        ]
    )
    for line, row, values in zip(lines_of(made), made.rows, made.lines, strict=True):
        cells = dict(zip(made.table.texts, line["cells"], strict=True))
        assert float(cells["accuracy_mean"]["key"]) == np.mean([*row.values.values()])
        assert float(cells["seeds"]["key"]) == len(row.values)
        if not row.baseline:
            assert float(cells["peak_memory_mib"]["key"]) == values["peak_memory_mib"]


def test_tinted_rows_are_those_that_differ_from_the_best_cell(report):
    classes = {line["details"]["name"]: line["tint"] for line in lines_of(report)}
    assert classes == {"rope": "", "sin": "", "none": "worse", "words": "better"}
    few = RunReport(run(seeds=2))
    assert {line["tint"] for line in lines_of(few)} == {""}
