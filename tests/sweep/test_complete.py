"""Incomplete records: refused in one line by every command that reads them."""

import json

import pytest
from click.testing import CliRunner
from example import run
from refused import refused
from small_runs import bench

from bench.publish.__main__ import publish
from zoo.cli.report import compare, report
from zoo.errors import ZooError
from zoo.sweep.complete import read_run

COST = next(number for number, record in enumerate(run()) if record.kind == "cost")


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
        (0, lambda v: v["config"]["data"].pop("fingerprint"), "config.data.fingerprint: Field req"),
        (
            1,
            lambda v: v["config"]["data"].update(fingerprint="0" * 64),
            "data.fingerprint: of other",
        ),
        (0, lambda v: v.update(config={}), "config.task: Field required"),
        (0, lambda v: v["config"].update(training="abc"), "config.training: .* dictionary"),
        (0, lambda v: v["metrics"].update(accuracy="x"), "metrics.accuracy: Input should be a val"),
        (0, lambda v: v["metrics"].update(accuracy=float("nan")), "metrics.accuracy: .* finite"),
        (0, lambda v: v["metrics"].pop("accuracy"), "metrics.accuracy: is missing"),
        (0, lambda v: v["metrics"].update(accuracy=17.5), "metrics.accuracy: .* less than .* to 1"),
        (
            0,
            lambda v: v["metrics"].update(macro_f1=-0.1),
            "metrics.macro_f1: .* greater than .* to 0",
        ),
        (0, lambda v: v["metrics"].update(train_seconds=-1.0), "train_seconds: .* to 0"),
        (0, lambda v: v["metrics"].update(confusion=[[1, 2]]), "confusion: must have as many"),
        (0, lambda v: v["metrics"].update(errors=[[1000, 0, 1]]), "example 1000 of 1000"),
        (1, lambda v: v["cell"].pop("pe"), "cell: has attention, norm"),
        (0, lambda v: v["metrics"].update(examples=7), "confusion: does not add up to 7"),
        (COST, lambda v: v.update(samples={}), "samples.properties: Field req"),
        (COST, lambda v: v["metrics"].update(peak_memory_mib=float("inf")), "peak_memory_mib"),
        (
            COST,
            lambda v: v["samples"]["turns"]["train"].update(wall=[[1.0, 0.0]]),
            r"samples.turns.train.wall.0.1: .* greater than 0",
        ),
        (
            COST,
            lambda v: v["samples"]["turns"]["train"]["cpu"][0].pop(),
            "samples.turns.train: wall and cpu are of different turns",
        ),
        (COST, lambda v: v["samples"]["turns"]["infer"].pop("cpu"), "turns.infer.cpu: Field req"),
        (COST, lambda v: v["samples"].update(clock="sundial"), "samples.clock: .* 'cpu' or 'wall'"),
        (COST, lambda v: v["samples"].pop("clock"), "samples: turns need a clock and batches"),
        (
            COST,
            lambda v: v["samples"]["reference"].pop("properties"),
            "samples.reference: turns need a clock and batches",
        ),
        (
            COST,
            lambda v: v["samples"]["properties"].update(batches=[]),
            "samples: turns need a clock and batches",
        ),
    ],
)
def test_a_record_that_lacks_what_a_report_needs_is_named(tmp_path, number, change, message):
    damaged = written(tmp_path, number, change)
    refused(rf"records.jsonl:{number + 1}: incomplete record: .*{message}", read_run, damaged)


def test_reports_comparisons_and_published_results_refuse_alike(tmp_path):
    damaged = written(tmp_path / "bad", change=lambda v: v["metrics"].update(macro_f1="x"))
    whole = written(tmp_path / "good")
    for command, *arguments in ((report, damaged), (compare, whole, damaged)):
        result = CliRunner().invoke(command, [str(a) for a in arguments])
        assert isinstance(result.exception, ZooError)
        assert "bad/records.jsonl:1: incomplete record: metrics.macro_f1" in str(result.exception)
    refused(r"bad/records\.jsonl:1", publish, tmp_path / "bad", out=tmp_path / "out")
    assert not (damaged / "report.html").exists()


def test_a_run_does_not_go_on_with_a_record_that_no_report_would_read(small, tmp_path):
    options = {**small, "phases": "train", "epochs": 1, "baseline": "none"}
    bench(tmp_path, options)
    file = tmp_path / "records.jsonl"
    record = json.loads(file.read_text())
    record["metrics"]["accuracy"] = float("nan")
    file.write_text(f"{json.dumps(record)}\n")
    with pytest.raises(ZooError, match=r"jsonl:1: incomplete record: metrics\.accuracy: .* finite"):
        bench(tmp_path, {**options, "seeds": 2})
    assert json.loads(file.read_text())["key"] == record["key"]
