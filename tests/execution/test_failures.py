"""Whatever fails in a job of real processes is the result of that job, and of no other."""

import os
import re
import subprocess
from pathlib import Path

import pandas as pd
import psutil
import pytest
from small_runs import CLASSIFY, FAILING, bench, flags

from zoo.cli import main
from zoo.execution import process
from zoo.sweep.records import Record, RecordFile


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("failures")


def trained(directory: Path, corpus: Path, attention: str, **options: int) -> dict[str, Record]:
    """One training of each attention, by attention; two at once."""
    cells = {"attention": attention, "pe": "sin", "baseline": "none", "phases": "train"}
    options = {**CLASSIFY, **cells, "data": str(corpus), "jobs": 2, **options}
    outcome = bench(directory, options, on="local", plugins=(FAILING,))
    return {record.cell["attention"]: record for record in outcome.records}


@pytest.fixture(scope="module")
def trainings(run_directory, corpus) -> dict[str, Record]:
    """Of each failing attention and of a sound one."""
    return trained(run_directory, corpus, "raises,exits,segfaults,hungry,diverges,fused")


EXPECTED = [
    ("raises", "crashed", "RuntimeError: no such luck (failing.py:", "in attend\n    raise"),
    ("exits", "crashed", "the process exited with status 7", "last words"),
    # faulthandler names the line of a crash in native code.
    ("segfaults", "crashed", "the process was killed by SIGSEGV", 'failing.py", line'),
    ("hungry", "oom", "out of memory", "torch.ones"),
    ("diverges", "diverged", "the loss became nan in epoch 1", "DivergedError"),
    ("fused", "ok", "", ""),
]


@pytest.mark.parametrize(("attention", "status", "reason", "trace"), EXPECTED)
def test_each_failure_is_recorded_with_its_reason_and_traceback(
    trainings, attention, status, reason, trace
):
    record = trainings[attention]
    assert record.status == status
    assert reason in record.reason
    assert trace in record.traceback


def test_records_name_the_file_of_a_component_and_nothing_of_finished_jobs_is_left(
    trainings, run_directory
):
    for attention, record in trainings.items():
        assert set(record.plugins) == (set() if attention == "fused" else {"failing.py"})
    assert sorted(path.name for path in run_directory.iterdir()) == [".lock", "records.jsonl"]


def test_what_takes_too_long_is_ended(tmp_path, corpus):
    record = trained(tmp_path, corpus, "hangs", timeout=1)["hangs"]
    assert (record.status, record.reason) == ("timeout", "took longer than 1 s")
    server = psutil.Process(process._servers[os.getpid()]._process.pid)
    assert server.children() == []


def test_a_cost_measurement_that_fails_leaves_the_others_measured(tmp_path, small):
    """The failing one is the reference of the others."""
    options = {**small, "attention": "exits,fused", "pe": "sin", "phases": "cost", "blocks": 1}
    outcome = bench(tmp_path, options, plugins=(FAILING,))
    assert {r.name.partition("+")[0]: r.status for r in outcome.records} == {
        "exits": "crashed",
        "fused": "ok",
    }
    for record in outcome.records:
        if record.status == "ok":
            assert record.metrics["train_tokens_per_s"] > 0
        else:
            assert record.reason == "the process exited with status 7"
            assert "last words" in record.traceback


@pytest.mark.parametrize("on", ["inline", "local"])
def test_a_full_disk_stops_the_run_at_once_and_the_same_command_goes_on(
    on, small, small_disk, capsys
):
    """No later job trains up to its first checkpoint, and none is recorded as crashed."""
    options = {**small, "pe": "sin,rope", "dim": 64, "phases": "train", "out": small_disk}
    words = ["bench", *flags({"seeds": 1, **options}), "--on", on]
    assert main(words) == 1
    *_, said = capsys.readouterr().err.splitlines()
    expected = (
        r"error: cannot write .*checkpoint\.pt: No space left on device; "
        r".*; the same command goes on from there"
    )
    assert re.search(expected, said), said
    assert {record.status for record in RecordFile(small_disk).read()} <= {"ok"}
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    assert main(words) == 0, capsys.readouterr().err
    assert [record.status for record in RecordFile(small_disk).read()] == ["ok"] * 3


def test_ctrl_c_while_the_disk_is_waited_for_leaves_a_table_of_that_record_too(
    small, tmp_path, monkeypatch
):
    """The line is in the file by then; here it is the first record of the run."""

    def fsync(_: int) -> None:
        if (tmp_path / "records.jsonl").exists():
            raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", fsync)
    words = ["bench", *flags({"seeds": 1, **small, "pe": "sin", "out": tmp_path})]
    assert main([*words, "--on", "inline"]) == 130
    assert len(RecordFile(tmp_path).read()) == 1
    assert len(pd.read_csv(tmp_path / "table.csv")) == 1
