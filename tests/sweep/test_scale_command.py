"""``zoo scale`` as a user runs it: real workers, a real lack of memory, nothing lost."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zoo.cli import main

LEAST = "--dim 8 --heads 2 --hidden 8 --layers 1 --rounds 1 --threads 1".split()


def zoo(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "zoo", "scale", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "scale.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_a_cell_that_runs_out_of_memory_is_a_row_and_the_others_go_on(tmp_path: Path):
    out = tmp_path / "out"
    words = ["--attention", "naive,fused", *LEAST, "--memory-limit", "1200", "--out", out]
    # Two heads of 16,384² scores are 1 GiB each; next to nothing for a fused kernel.
    done = zoo(*words, "--lengths", "32,16384,16400")
    assert done.returncode == 0, done.stderr
    found = {(r["cell"]["attention"], r["config"]["value"]): r for r in records(out)}
    assert found["naive", 16384]["status"] == "oom"
    assert "out of memory" in found["naive", 16384]["reason"]
    assert found["naive", 16400]["status"] == "skipped"
    assert found["naive", 16400]["reason"] == "oom at length 16384"
    for key in (("naive", 32), ("fused", 32), ("fused", 16384), ("fused", 16400)):
        assert found[key]["status"] == "ok", found[key]
        assert all(found[key]["metrics"][f"{p}_seconds"] > 0 for p in ("train", "infer"))
    assert "oom" in done.stdout

    # The same again measures nothing, and with more memory only what failed.
    again = zoo(*words, "--lengths", "32,16384,16400")
    assert again.returncode == 0
    assert len(records(out)) == len(found)
    assert again.stdout == done.stdout


def test_points_are_kept_taken_over_and_shown_again(tmp_path: Path):
    out = tmp_path / "out"
    words = ["--attention", "fused", *LEAST, "--batch-size", "2", "--out", out]
    first = zoo(*words, "--lengths", "8,16")
    assert first.returncode == 0, first.stderr
    before = (out / "scale.jsonl").read_text()
    with (out / "scale.jsonl").open("a") as file:
        file.write('{"torn')  # a kill in the middle of a line
    more = zoo(*words, "--lengths", "8,16,32")
    assert more.returncode == 0, more.stderr
    assert "torn" in more.stderr
    text = (out / "scale.jsonl").read_text()
    assert text.startswith(before)
    assert [r["config"]["value"] for r in records(out)] == [8, 16, 32]
    assert "fused" in more.stdout
    assert "Grows with length" in more.stdout
    made = {name: (out / name).read_bytes() for name in ("scale.csv", "scale.md", "scale.svg")}
    for name in made:
        (out / name).unlink()
    assert main(["scale", "--collect", "--out", str(out)]) == 0
    assert {name: (out / name).read_bytes() for name in made} == made
    record = records(out)[0]
    command = shlex.split(record["command"])
    assert command[:2] == ["zoo", "scale"]
    repeated = tmp_path / "repeated"
    assert main([*command[1:], "--rounds", "1", "--threads", "1", "--out", str(repeated)]) == 0
    assert records(repeated)[0]["config"] == record["config"]
    assert records(repeated)[0]["key"] == record["key"]

    stranger = ["scale", "--lengths", "8", "--batch-size", "3", "--out", str(out)]
    assert main(stranger) == 2


def test_a_point_that_takes_too_long_is_a_row(tmp_path: Path):
    words = ["--attention", "fused", *LEAST, "--timeout", "0.01", "--lengths", "8,16"]
    done = zoo(*words, "--out", tmp_path)
    assert done.returncode == 0
    assert [(r["status"], r["reason"]) for r in records(tmp_path)] == [
        ("timeout", "took longer than 0.01 s"),
        ("skipped", "timeout at length 8"),
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--over", "depth"], "length, dim, layers, batch"),
        (["--lengths", "8,4"], "rising positive integers"),
        (["--over", "dim", "--lengths", "8,16"], "use --values"),
        (["--lengths", "8,16", "--max-length", "4"], "name its values with --lengths"),
        (["--over", "batch", "--values", "1,2", "--batch-size", "4"], "with --values"),
        (["--lengths", "8", "--values", "8"], "use one of the two"),
        (["--attention", "fusd"], "did you mean"),
        (["--fresh", "--collect"], "use one of them"),
        (["--collect"], "no scale.jsonl"),
        (["--dim", "0"], "--dim"),
        (["--device", "abacus"], "--device"),
    ],
)
def test_bad_usage_is_one_line_and_nothing_is_written(words, says, tmp_path: Path, capsys):
    out = tmp_path / "out"
    assert main(["scale", *words, "--out", str(out)]) == 2
    error = capsys.readouterr().err.strip()
    assert says in error
    assert len(error.splitlines()) == 1
    assert not (out / "scale.jsonl").exists()
