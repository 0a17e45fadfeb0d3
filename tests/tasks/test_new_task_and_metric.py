"""A task and a metric of a stranger: each is one file and one line of registration."""

from __future__ import annotations

import pytest
from small_runs import CLASSIFY, bench

TASK = """
from zoo import hookimpl
from zoo.tasks.classify import Classify


class Recall(Classify):
    metrics = ("{metric}", "accuracy")


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


def test_records_have_the_metric_of_the_new_task(corpus, tmp_path):
    files = tmp_path / "my_task.py", tmp_path / "my_metric.py"
    for file, content in zip(files, (TASK.format(metric="worst-class"), METRIC), strict=True):
        file.write_text(content, encoding="utf-8")
    options = {**CLASSIFY, "task": "recall-of-classes", "data": str(corpus), "phases": "train"}
    outcome = bench(tmp_path / "out", options, plugins=files)
    assert [record.status for record in outcome.records] == ["ok", "ok"]
    for record in outcome.records:
        assert record.config["task"] == "recall-of-classes"
        rows = record.metrics["confusion"]
        expected = min(row[c] / sum(row) for c, row in enumerate(rows))
        assert record.metrics["worst_class"] == expected


@pytest.mark.parametrize("value", ["None", "'text'", "7.0", "float('nan')"])
def test_a_metric_that_gives_no_number_of_its_range_fails_its_rows(value, corpus, tmp_path):
    files = tmp_path / "my_task.py", tmp_path / "my_metric.py"
    files[0].write_text(TASK.format(metric="worst-class"), encoding="utf-8")
    files[1].write_text(METRIC.replace("return min(", f"return {value}\n    min("), "utf-8")
    options = {**CLASSIFY, "task": "recall-of-classes", "data": str(corpus), "phases": "train"}
    for record in bench(tmp_path / "out", options, plugins=files).records:
        assert record.status == "crashed"
        given = value.removeprefix("float('").removesuffix("')")
        assert f"metric 'worst_class' gave {given}, not a number from 0 to 1" in record.reason
