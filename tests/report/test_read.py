"""Records that are JSON but not whole: refused in one line, by every command that reads them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from example import run

from bench.publish.publish import publish
from zoo.cli.compare import compare
from zoo.cli.report import report
from zoo.errors import ZooError
from zoo.report.read import read_run

PROBE = next(number for number, record in enumerate(run()) if record.kind == "probe")


def written(directory, number=0, change=None, replace=("", "")):
    """A run of which one line was gone over. change: done to its plain values."""
    lines = []
    for at, record in enumerate(run()):
        values = record.model_dump()
        if at == number and change:
            change(values)
        text = json.dumps(values)
        lines.append(text.replace(*replace) if at == number and replace[0] else text)
    directory.mkdir(exist_ok=True)
    (directory / "records.jsonl").write_text("\n".join(lines) + "\n")
    return directory


def test_a_whole_run_is_read(tmp_path):
    assert [one.metrics for one in read_run(written(tmp_path))] == [one.metrics for one in run()]


@pytest.mark.parametrize(
    ("number", "change", "told"),
    [
        (0, lambda v: v["config"]["data"].pop("fingerprint"), "config.data.fingerprint: Field req"),
        (0, lambda v: v.update(config={}), "config.data: Field required"),
        (0, lambda v: v["metrics"].update(accuracy="x"), "metrics.accuracy: Input should be a val"),
        (0, lambda v: v["metrics"].update(accuracy=float("nan")), "metrics.accuracy: .* finite"),
        (0, lambda v: v["metrics"].update(accuracy=17.5), "metrics.accuracy: .* less than .* to 1"),
        (0, lambda v: v["metrics"].update(f1=-0.1), "metrics.f1: .* greater than .* to 0"),
        (0, lambda v: v["metrics"].update(train_seconds=-1.0), "train_seconds: .* to 0"),
        (0, lambda v: v["metrics"].update(confusion=[[1, 2]]), "confusion: as many rows as"),
        (0, lambda v: v["metrics"].update(errors=[[1000, 0, 1]]), "document 1000 of 1000"),
        (0, lambda v: v["cell"].pop("pe"), "cell: has attention, norm"),
        (PROBE, lambda v: v.update(samples={}), "samples.facts: Field required"),
        (PROBE, lambda v: v["metrics"].update(peak_memory_mib=float("inf")), "peak_memory_mib"),
        (
            PROBE,
            lambda v: v["samples"]["rounds"][0].update(train=[0.0, 1.0]),
            r"samples.rounds.0.train.0: .* greater than 0",
        ),
    ],
)
def test_a_record_that_lacks_what_a_report_is_made_of_is_named(tmp_path, number, change, told):
    damaged = written(tmp_path, number, change)
    with pytest.raises(ZooError, match=rf"records.jsonl:{number + 1}: no whole record: .*{told}"):
        read_run(damaged)


def test_half_a_letter_and_a_tower_of_brackets_are_no_records(tmp_path):
    half = written(tmp_path / "half", replace=("newswire", r"\ud800"))
    with pytest.raises(ZooError, match=r"records\.jsonl:1: no valid record: .*surrogates"):
        read_run(half)
    (half / "records.jsonl").write_text("[" * 100_000 + "\n")
    with pytest.raises(ZooError, match=r"records\.jsonl:1: no valid record: nested too deeply"):
        read_run(half)


def test_reports_comparisons_and_published_results_refuse_alike(tmp_path):
    damaged = written(tmp_path / "bad", change=lambda v: v["metrics"].update(f1="x"))
    whole = written(tmp_path / "good")
    for command, *arguments in ((report, damaged), (compare, whole, damaged)):
        result = CliRunner().invoke(command, [str(a) for a in arguments])
        assert isinstance(result.exception, ZooError)
        assert "bad/records.jsonl:1: no whole record: metrics.f1" in str(result.exception)
    with pytest.raises(ZooError, match=r"bad/records\.jsonl:1"):
        publish(tmp_path / "bad", out=tmp_path / "out")
    assert not (damaged / "report.html").exists()
