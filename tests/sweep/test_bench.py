"""One command from registered components to records and a table."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from small_runs import (
    CLASSIFY,
    SEQ2SEQ,
    Notices,
    bench,
    command,
    executor_plugin,
    flags,
    result_of,
)

from zoo.cli import main
from zoo.report.run_report import RunReport
from zoo.sweep.records import Record, RecordFile

GRID = {**CLASSIFY, "attention": "fused,naive", "pe": "sin"}


@pytest.fixture(scope="module")
def options(corpus) -> dict[str, Any]:
    return {**GRID, "data": str(corpus)}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, options) -> Path:
    """The directory of a whole run of two cells, two seeds and a baseline."""
    out = tmp_path_factory.mktemp("run") / "out"
    assert command({**options, "seeds": 2}, out) == 0
    return out


@pytest.fixture
def copy(finished, tmp_path) -> Path:
    """A copy of that run, to add to."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


@pytest.fixture(scope="module")
def records(finished) -> list[Record]:
    return RecordFile(finished).read()


def test_cells_have_accuracy_speed_and_memory_on_one_row(finished):
    table = pd.read_csv(finished / "table.csv")
    assert len(table) == 3
    assert (table.status == "ok").all()
    cells = table[table.baseline.isna()]
    assert set(cells.attention) == {"fused", "naive"}
    assert cells[["seeds", "params", "peak_memory_mib"]].notna().all(axis=None)
    assert cells.accuracy_mean.between(0, 1).all()
    for column in ("train_tokens_per_s", "infer_tokens_per_s", "latency_ms"):
        assert (cells[column] > 0).all(), column
    assert table.accuracy_mean.is_monotonic_decreasing, "the best row is the first"
    assert list(table.baseline.dropna()) == ["tfidf-logreg"]


def test_a_record_holds_what_is_needed_to_repeat_it(records):
    record = next(r for r in records if r.kind == "train" and r.cell)
    assert record.task == record.config["task"] == "classify"
    assert record.config["data"]["fingerprint"]
    assert record.config["sizes"]["dim"] == 16
    assert record.config["training"]["epochs"] == 2
    assert record.config["task_options"]["head_hidden"] == 0
    assert record.config["execution"] == {"precision": "fp32", "compile": False}
    assert {"python", "torch", "zoo", "device_name", "threads", "git"} <= set(record.environment)
    assert [entry["number"] for entry in record.curve] == [1, 2]
    assert "--seed 0" in record.command
    assert "dim=16" in record.command
    assert [one.name for one in record.metric_descriptions] == ["accuracy", "macro_f1"]
    assert record.metric_descriptions[0].paired


@pytest.mark.parametrize("baseline", [False, True], ids=["cell", "baseline"])
def test_the_command_of_a_record_gives_the_same_scores_again(baseline, records, tmp_path):
    record = next(
        r
        for r in records
        if r.kind == "train" and bool(r.baseline) == baseline and r.seed == (0 if baseline else 1)
    )
    words = shlex.split(record.command)
    assert words[0] == "zoo"
    out = str(tmp_path / "again")
    assert main([*words[1:], "--on", "inline", "--phases", "train", "--out", out]) == 0
    again = next(r for r in RecordFile(Path(out)).read() if r.name == record.name)
    assert result_of(again) == result_of(record)


def test_a_hybrid_is_a_row_like_any_other(tmp_path, small):
    """Its name is the pattern, and its record's command repeats it."""
    axes = {"attention": ["fused/naive", "fused"], "pe": "rope(base=100.0)/none"}
    options = {**small, **axes, "layers": 2, "epochs": 1, "baseline": "none", "phases": "train"}
    outcome = bench(tmp_path / "out", {**options, "reference": "fused/naive"})
    record, alone = outcome.records
    assert record.cell == {**alone.cell, "attention": "fused/naive"}
    # Both compute the same function, so they learn the same.
    assert record.exact
    assert alone.exact
    assert record.metrics["errors"] == alone.metrics["errors"]
    assert record.key != alone.key
    table = RunReport(outcome.records).table.frame
    assert set(table.attention) == {"fused/naive", "fused"}
    assert set(table.pe) == {"rope(base=100.0)/none"}
    words = shlex.split(record.command)
    assert words[1:6] == ["bench", "--attention", "fused/naive", "--pe", "rope(base=100.0)/none"]


def test_costs_are_measured_on_the_same_batches_in_turns(records):
    costs = [r for r in records if r.kind == "cost" and r.cell]
    assert len(costs) == 2
    assert len({json.dumps(r.samples["properties"]["batches"]) for r in costs}) == 1
    assert len({r.samples["session"] for r in costs}) == 1
    for record in costs:
        for turns in (record.samples["turns"], record.samples["reference"]["turns"]):
            assert [len(blocks) for blocks in turns["train"]["cpu"]] == [1, 1]
        assert record.environment["threads"] == 1


def test_the_same_request_again_runs_nothing_and_one_more_seed_trains_just_that(copy, options):
    before = (copy / "records.jsonl").read_bytes()
    bench(copy, {**options, "seeds": 2})
    assert (copy / "records.jsonl").read_bytes() == before
    bench(copy, {**options, "seeds": 3})
    added = RecordFile(copy).read()[len(before.splitlines()) :]
    assert {(r.kind, r.seed) for r in added} == {("train", 2)}
    assert len(added) == 2  # the cells; the baseline's fit is the same with every seed


def test_costs_of_other_blocks_or_threads_are_measured_again(tmp_path, small):
    plugin = executor_plugin(tmp_path, "made-up", "made_up_costs:MadeUpCosts")
    options = {**small, "phases": "cost", "baseline": "none"}
    found = []
    for blocks, threads in ((2, 1), (5, 1), (2, 1), (2, 2), (2, 0)):
        asked = {**options, "blocks": blocks, "threads": threads}
        outcome = bench(tmp_path / "out", asked, on="made-up", plugins=(plugin,))
        found.append((outcome.measured, *outcome.records[0].metrics["asked"]))
    # Without a number of threads it is one.
    assert found == [(1, 2, 1), (1, 5, 1), (0, 2, 1), (1, 2, 2), (0, 2, 1)]


def test_a_run_that_goes_on_with_other_threads_keeps_what_is_there(tmp_path, small):
    options = {**small, "baseline": "none", "phases": "train", "epochs": 1}
    options["batch_size"] = 72  # one step: each is slow with two threads on one core
    for threads, seeds in ((1, 1), (2, 2)):
        shown = Notices()
        done = bench(tmp_path, {**options, "threads": threads, "seeds": seeds}, progress=shown)
    assert "train: 1 there already" in shown.lines
    assert [record.environment["threads"] for record in done.records] == [1, 2]


def test_a_result_that_failed_is_tried_again(tmp_path, small):
    """As after a machine that had too little memory, which the key says nothing of."""
    options = {**small, "phases": "train", "baseline": "none"}
    bench(tmp_path, options)
    file = tmp_path / "records.jsonl"
    (record,) = RecordFile(tmp_path).read()
    file.write_text(
        record.model_copy(update={"status": "oom", "reason": "out of memory"}).model_dump_json()
        + "\n"
    )
    assert bench(tmp_path, options).trained == 1
    assert [r.status for r in RecordFile(tmp_path).read()] == ["oom", "ok"]
    assert bench(tmp_path, options).trained == 0


def test_records_of_other_settings_data_or_task_are_not_mixed_in(
    finished, options, tmp_path, capsys
):
    before = (finished / "records.jsonl").read_bytes()
    other = tmp_path / "other.csv"
    lines = (Path(options["data"]) / "train.csv").read_text().splitlines()
    other.write_text("\n".join(lines[:-3]) + "\n")
    for changed, says in (
        ({**options, "dim": 32}, "dim=16, not 32"),
        ({**options, "epochs": 3}, "epochs=2, not 3"),
        ({**options, "lr": "0.001,0.003"}, "one value of each setting, not lr=0.001,0.003"),
        ({**options, "keep_duplicates": True}, "choose another directory"),
        ({**options, "head_hidden": 2}, "head_hidden=0, not 2"),
        ({**options, "data": str(other)}, "holds records of data="),
        (SEQ2SEQ, "holds records of task='classify', not 'seq2seq'"),
    ):
        assert command(changed, finished) == 2
        assert says in capsys.readouterr().err
    assert (finished / "records.jsonl").read_bytes() == before


def test_a_combination_that_cannot_work_is_a_skipped_row_with_its_reason(tmp_path, small, capsys):
    options = {**small, "attention": "torch,fused", "pe": "rope", "phases": "train"}
    assert command(options, tmp_path) == 0
    table = pd.read_csv(tmp_path / "table.csv")
    skipped = table[table.attention == "torch"].iloc[0]
    assert skipped.status == "skipped"
    assert skipped.reason == "torch cannot rotate queries and keys, which rope needs"
    printed = capsys.readouterr()
    assert "torch cannot rotate" in printed.out
    said = f"1 row skipped: {skipped.reason}\n"
    assert 0 <= printed.err.find(said) < printed.err.find("train: ")
    bench(tmp_path, options)  # and it is recorded once
    assert [r.status for r in RecordFile(tmp_path).read()].count("skipped") == 1


def test_records_are_of_the_stated_schema_and_no_text_is_in_them_or_in_tables(finished, corpus):
    texts = pd.read_csv(corpus / "test.csv").text
    for name in ("records.jsonl", "table.csv", "table.md"):
        written = (finished / name).read_text()
        assert not any(text in written for text in texts)
    for line in (finished / "records.jsonl").read_text().splitlines():
        assert Record.model_validate(json.loads(line)).schema_version == 2


@pytest.mark.slow
def test_after_a_bench_with_all_phases_the_submitting_process_has_no_torch(small, tmp_path):
    """It would take 180 MiB and two seconds."""
    script = (
        "import sys, zoo.cli\n"
        "status = zoo.cli.main(sys.argv[1:])\n"
        "print(status, 'torch' in sys.modules)\n"
    )
    words = flags({**small, "blocks": 1, "out": tmp_path})
    done = subprocess.run(
        [sys.executable, "-c", script, "bench", *words], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "0 False", done.stderr
