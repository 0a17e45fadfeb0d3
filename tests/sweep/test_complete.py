"""Incomplete records: refused in one line by every command that reads them."""

import json

import pytest
from example import run
from refused import refused
from small_runs import bench

from zoo.errors import ZooError
from zoo.sweep.records import read_run


def written(directory, number=0, change=lambda values: None):
    """A run with one damaged line. change: applied to its plain values."""
    values = [record.model_dump() for record in run()]
    change(values[number])
    directory.mkdir(exist_ok=True)
    lines = "".join(json.dumps(one) + "\n" for one in values)
    (directory / "records.jsonl").write_text(lines)
    return directory


def test_a_whole_run_is_read(tmp_path):
    assert [one.metrics for one in read_run(written(tmp_path))] == [one.metrics for one in run()]


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (
            0,
            lambda v: v["config"]["data"].pop("fingerprint"),
            "config.data: it lacks",
        ),
        (
            1,
            lambda v: v["config"]["data"].update(fingerprint="0" * 64),
            "data.fingerprint: of other",
        ),
        (0, lambda v: v["config"].pop("task"), "config.task: is missing"),
        (0, lambda v: v["metrics"].update(accuracy="x"), "metrics.accuracy: is missing, or no"),
        (0, lambda v: v["metrics"].pop("accuracy"), "metrics.accuracy: is missing"),
    ],
)
def test_a_record_that_lacks_what_a_report_needs_is_named(tmp_path, number, change, message):
    damaged = written(tmp_path, number, change)
    refused(rf"records.jsonl:{number + 1}: incomplete record: .*{message}", read_run, damaged)


def test_a_run_does_not_go_on_with_a_record_that_no_report_would_read(small, tmp_path):
    options = {**small, "phases": "train", "epochs": 1, "baseline": "none"}
    bench(tmp_path, options)
    file = tmp_path / "records.jsonl"
    record = json.loads(file.read_text())
    del record["metrics"]["accuracy"]
    file.write_text(f"{json.dumps(record)}\n")
    with pytest.raises(ZooError, match=r"jsonl:1: incomplete record: metrics\.accuracy"):
        bench(tmp_path, {**options, "seeds": 2})
    assert json.loads(file.read_text())["key"] == record["key"]
