"""Exit statuses of runs, and the tracebacks that ``--debug`` prints."""

import subprocess
import sys
from pathlib import Path

import pytest
from small_runs import FAILING, QUICK, flags

from zoo.sweep.records import RecordFile

ONE_MODEL = {n: v for n, v in QUICK.items() if n not in ("phases", "baseline", "seeds")}
WORDS, TRAIN = ([*flags(options), "--on", "inline"] for options in (QUICK, ONE_MODEL))
FAILED = ["--plugin", str(FAILING), "--attention"]  # and which of its attentions


def test_a_failed_row_exits_1_and_debug_prints_its_traceback(folder, said):
    failing = ["bench", *WORDS, *FAILED, "fused,raises", "--out"]
    quiet = said(*failing, "quiet", status=1)
    assert "no such luck" in quiet.out + quiet.err
    assert "Traceback" not in quiet.err + quiet.out
    loud = said("--debug", *failing, "loud", status=1)
    assert f"Report: {Path('loud', 'report.html')}" in loud.out
    assert loud.err.count("Traceback (most recent call last)") == 1
    assert "raises+rope+layer+gelu+pre+mean seed 0, crashed:\nTraceback" in loud.err
    assert 'raise RuntimeError("no such luck")' in loud.err
    records = {record.cell["attention"]: record for record in RecordFile(Path("loud")).read()}
    assert records["fused"].status == "ok"
    assert records["raises"].reason.startswith("RuntimeError: no such luck (failing.py:")
    assert records["raises"].traceback in loud.err + "\n"
    assert {"records.jsonl", "table.csv", "table.md", "table.tex"} <= {
        path.name for path in Path("loud").iterdir()
    }


def test_a_run_in_which_no_cell_can_be_built_exits_1_also_where_a_baseline_scores(folder, said):
    words = ["bench", *WORDS, "--attention", "fused", "--baseline", "tfidf-logreg", "--pe"]
    assert "skipped" in said(*words, "rope(base=0)", "--out", "none", status=1).out
    assert "skipped" in said(*words, "rope(base=0),sin", "--out", "one").out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_behind_the_output_is_one_line(folder):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "zoo", "list"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "zoo list: error: cannot write a file: No space left on device\n"


def test_a_name_that_is_not_utf_8_is_refused(folder, refused_command):
    assert refused_command("bench", *WORDS, "--data", "caf\udce9.csv") == (
        "zoo bench: error: an argument is not UTF-8; if it is a file, rename it"
    )


def test_a_failed_training_exits_1_and_debug_prints_its_traceback(folder, said):
    words = ["train", *TRAIN, *FAILED, "raises", "--save", "model"]
    assert "Traceback" not in said(*words, status=1).err
    printed = said("--debug", *words, status=1).err
    assert 'raise RuntimeError("no such luck")' in printed
    assert printed.splitlines()[-1].startswith("zoo train: error: crashed: ")
    assert not (folder / "model").exists()


@pytest.mark.parametrize("attention", ["fused,interrupts", "interrupts"])
def test_an_interrupted_run_exits_130_and_says_what_is_there(attention, folder, said):
    arguments = [*WORDS, *FAILED, attention, "--out", "out"]
    last = said("bench", *arguments, status=130).err.splitlines()[-1]
    said_first = "zoo bench: interrupted: what is finished is in "
    assert last.startswith(said_first)
    assert last.endswith("/out; the same command goes on from there")
    # What ended before the interruption is recorded, and is in the table.
    found = [(record.cell["attention"], record.status) for record in RecordFile(Path("out")).read()]
    assert found == ([("fused", "ok")] if "fused" in attention else [])
    if found:
        assert "fused" in Path("out", "table.csv").read_text()
