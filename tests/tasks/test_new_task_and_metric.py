"""A task and a metric of a stranger: each is one file and one line of registration."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import CLASSIFY, bench

from zoo.sweep.records import Record

TASK = """
from zoo import hookimpl
from zoo.tasks.classify import Classify


class Recall(Classify):
    metrics = ("worst-class", "accuracy")


@hookimpl
def zoo_register(register):
    register("task", "recall-of-classes", Recall, summary="every class counts the same")
"""
METRIC = """
from zoo import hookimpl
from zoo.tasks.base import Metric, MetricDescription


def worst_class():
    return Metric(MetricDescription(name="worst_class", label="worst class"), compute)


def compute(outputs):
    right = outputs["labels"] == outputs["predicted"]
    return min(float(right[outputs["labels"] == c].mean()) for c in set(outputs["labels"].tolist()))


@hookimpl
def zoo_register(register):
    register("metric", "worst-class", worst_class, summary="the class that is found least often")
"""


def records(folder: Path, corpus: Path, metric: str) -> list[Record]:
    """Of a cell and a baseline of the task with that metric."""
    files = folder / "my_task.py", folder / "my_metric.py"
    for file, content in zip(files, (TASK, metric), strict=True):
        file.write_text(content, encoding="utf-8")
    options = {**CLASSIFY, "task": "recall-of-classes", "data": str(corpus), "phases": "train"}
    return bench(folder / "out", {**options, "epochs": 1}, plugins=files).records


def test_records_have_the_metric_of_the_new_task(corpus, tmp_path):
    found = records(tmp_path, corpus, METRIC)
    assert [record.status for record in found] == ["ok", "ok"]
    for record in found:
        assert record.config["task"] == "recall-of-classes"
        rows = record.metrics["confusion"]
        expected = min(row[c] / sum(row) for c, row in enumerate(rows))
        assert record.metrics["worst_class"] == expected


@pytest.mark.parametrize("value", ["None", "'text'", "7.0", "float('nan')"])
def test_a_metric_that_gives_no_number_of_its_range_fails_its_rows(value, corpus, tmp_path):
    metric = METRIC.replace("return min(", f"return {value}\n    min(")
    for record in records(tmp_path, corpus, metric):
        assert record.status == "crashed"
        given = value.removeprefix("float('").removesuffix("')")
        assert f"metric 'worst_class' gave {given}, not a number from 0 to 1" in record.reason
