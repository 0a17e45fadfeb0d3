"""Exit statuses of runs, and the tracebacks that ``--debug`` prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from classify_runs import FAILING, WORDS

from zoo.cli import main
from zoo.cli.options import resumable
from zoo.sweep.records import Record, RecordFile


@pytest.fixture
def failing(folder: Path) -> list[str]:
    """A run of a cell that works and one that fails."""
    (folder / "failing.py").write_text(FAILING)
    return ["bench", *WORDS, "--attention", "fused,failing", "--plugin", "failing.py"]


def test_a_run_without_failures_exits_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *WORDS, "--out", "out"]) == 0
    printed = capsys.readouterr()
    assert "Records and tables: out" in printed.out
    assert "Traceback" not in printed.err
    assert {"records.jsonl", "table.csv", "table.md", "table.tex"} <= {
        path.name for path in (folder / "out").iterdir()
    }


def test_a_failed_row_exits_1_and_debug_prints_its_traceback(
    failing: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*failing, "--out", "quiet"]) == 1
    quiet = capsys.readouterr()
    assert "the attention gave up" in quiet.out + quiet.err
    assert "Traceback" not in quiet.err
    assert main(["--debug", *failing, "--out", "loud"]) == 1
    loud = capsys.readouterr()
    assert "Records and tables: loud" in loud.out
    assert loud.err.count("Traceback (most recent call last)") == 1
    assert "failing+rope+layer+gelu+pre+mean seed 0, crashed:\nTraceback" in loud.err
    assert 'raise RuntimeError("the attention gave up")' in loud.err
    records = {record.cell["attention"]: record for record in RecordFile(Path("loud")).read()}
    assert records["fused"].status == "ok"
    assert records["failing"].traceback in loud.err + "\n"


def test_a_failed_training_exits_1_and_debug_prints_its_traceback(
    failing: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*failing[1:], "--attention", "failing", "--save", "model"]
    for option in ("--phases", "--baseline"):
        place = words.index(option)
        del words[place : place + 2]
    assert main(["train", *words]) == 1
    assert "Traceback" not in capsys.readouterr().err
    assert main(["--debug", "train", *words]) == 1
    printed = capsys.readouterr().err
    assert 'raise RuntimeError("the attention gave up")' in printed
    assert printed.splitlines()[-1].startswith("zoo train: crashed: ")
    assert not (folder / "model").exists()


def test_train_says_what_it_trained_with_the_right_numbers_of_nouns(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [w for w in WORDS if w not in ("--phases", "train", "--baseline", "none")]
    (folder / "data").mkdir()
    rows = [f"word number {n},{'ab'[n % 2]}" for n in range(20)]
    (folder / "data" / "train.csv").write_text("\n".join(["text,label", *rows]))
    (folder / "data" / "test.csv").write_text("text,label\nanother word,a\n")
    words[words.index("order(train=60,test=12)")] = "data"
    assert main(["train", *words, "--ensemble", "2", "--save", "two"]) == 0
    said = capsys.readouterr().out
    assert " on 1 test document of data; " in said
    assert "; an ensemble of 2 models with " in said
    assert main(["train", *words, "--save", "one"]) == 0
    assert "ensemble" not in capsys.readouterr().out


def test_debug_prints_the_traceback_of_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--debug", "bench", "--attention", "fusd"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("Traceback")
    assert printed.splitlines()[-1].startswith("zoo bench: error: no attention 'fusd'; did you")


def test_an_interrupted_run_exits_130(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = FAILING.replace('RuntimeError("the attention gave up")', "KeyboardInterrupt")
    (folder / "failing.py").write_text(plugin)
    run = ["bench", *WORDS, "--attention", "fused,failing", "--plugin", "failing.py"]
    assert main([*run, "--out", "out"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == (
        "zoo bench: interrupted: records are in out; the same command goes on from there"
    )
    # What ended before the interruption is recorded, and is in the table.
    (record,) = RecordFile(folder / "out").read()
    assert (record.cell["attention"], record.status) == ("fused", "ok")
    assert "fused" in (folder / "out" / "table.csv").read_text()


def test_an_interruption_before_the_first_training_ends_says_where_the_run_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = FAILING.replace('RuntimeError("the attention gave up")', "KeyboardInterrupt")
    (folder / "failing.py").write_text(plugin)
    run = ["bench", *WORDS, "--attention", "failing", "--plugin", "failing.py", "--out", "out"]
    assert main(run) == 130
    assert capsys.readouterr().err.splitlines()[-1] == (
        "zoo bench: interrupted: unfinished work is in out; the same command goes on from there"
    )
    with (
        pytest.raises(KeyboardInterrupt, match="nothing was trained yet; the same command"),
        resumable(lambda: Path("no-such-run"), fresh=False),
    ):
        raise KeyboardInterrupt


def test_scale_exits_1_where_a_cell_crashed_and_debug_prints_its_traceback(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = {"attention": "failing", "pe": "rope", "norm": "layer", "ffn": "gelu", "block": "pre"}
    record = Record(
        kind="scale",
        status="crashed",
        reason="RuntimeError: the attention gave up",
        traceback="Traceback of a worker\n",
        cell={**axes, "pool": "mean"},
        key="1",
        config={"task": "classify", "over": "length", "value": 8, "base": {}},
        environment={"device": "cpu", "precision": "fp32"},
    )
    RecordFile(folder, "scale.jsonl").append(record)
    assert main(["scale", "--collect", "--out", "."]) == 1
    assert "Traceback" not in capsys.readouterr().err
    assert main(["--debug", "scale", "--collect", "--out", "."]) == 1
    printed = capsys.readouterr()
    assert "Records, tables and plot: ." in printed.out
    name = "failing+rope+layer+gelu+pre+mean"
    assert printed.err == f"\n{name}, crashed:\nTraceback of a worker\n"
