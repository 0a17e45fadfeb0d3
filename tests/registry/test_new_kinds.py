"""A wheel brings a task, a metric and an executor; every command works with them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from sandbox import Sandbox, make_sandbox
from wheels import write_wheel

import zoo
from zoo.sweep.records import RecordFile

SOURCE = Path(__file__).parent / "counting" / "zoo_counting.py"
SMALL = (
    "--task count --on logged --attention fused --dim 16 --heads 2 --hidden 16 --layers 1 "
    "--threads 1 --epochs 12 --lr 0.01 --word cup"
).split()
METRIC = "mean_absolute_error"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    folder = tmp_path_factory.mktemp("counting")
    os.environ["ZOO_CACHE"] = str(folder / "cache")
    wheel = write_wheel(
        folder,
        "zoo-counting",
        {"zoo_counting.py": SOURCE.read_text()},
        entry_points="[zoo]\ncounting = zoo_counting\n",
    )
    return make_sandbox(folder / "env", [wheel])


def ok(sandbox: Sandbox, *arguments: str) -> str:
    done = sandbox.zoo(*arguments, plugins="zoo-counting")
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def run(sandbox: Sandbox) -> Path:
    """Three seeds of two cells, and what they cost."""
    directory = sandbox.folder / "run"
    ok(
        sandbox,
        "bench",
        *SMALL,
        "--pe",
        "none,sin",
        "--rounds",
        "1",
        "--seeds",
        "3",
        "--out",
        str(directory),
    )
    return directory


def test_the_wheel_is_listed_and_passes_its_checks(sandbox: Sandbox):
    found = {(c["kind"], c["name"]) for c in json.loads(ok(sandbox, "list", "--json"))}
    assert {("task", "count"), ("metric", METRIC), ("executor", "logged")} <= found
    printed = ok(sandbox, "check", "task/count", f"metric/{METRIC}", "executor/logged")
    assert " failed" not in printed.replace("0 failed", "")


def test_bench_trains_it_on_its_own_executor(run: Path):
    records = RecordFile(run).read()
    trained = [r for r in records if r.kind == "train"]
    assert {(r.status, r.seed) for r in trained} == {("ok", 0), ("ok", 1), ("ok", 2)}
    assert {r.status for r in records if r.kind == "cost"} == {"ok"}
    # The label is the word's count, 0 to 3: guessing the mean is wrong by 1 on average.
    assert all(r.metrics[METRIC] < 0.6 for r in trained)
    assert all(r.config["task_options"] == {"word": "cup"} for r in records)
    assert "--word cup" in trained[0].command
    assert {r.metric_descriptions[0].unit for r in records} == {"words"}
    log = (run / "executor.log").read_text().splitlines()
    assert sorted(line.split()[0] for line in log) == ["cost", *["train"] * 6]


def test_report_reads_it_where_the_plugin_is_missing(sandbox: Sandbox, run: Path):
    done = sandbox.zoo("report", str(run), "--tables", plugins="")
    assert done.returncode == 0, done.stderr
    table = (run / "table.csv").read_text()
    assert f"{METRIC}_mean" in table.splitlines()[0]
    assert "error" in (run / "table.md").read_text()


def test_compare_knows_that_a_smaller_error_is_better(sandbox: Sandbox, run: Path, tmp_path: Path):
    worse = RecordFile(tmp_path)
    for record in RecordFile(run).read():
        if record.kind == "train":
            error = {METRIC: record.metrics[METRIC] + 1}
            worse.append(record.model_copy(update={"metrics": record.metrics | error}))
    done = sandbox.zoo("compare", str(tmp_path), str(run), "--json", plugins="")
    assert done.returncode == 0, done.stderr
    assert {row["verdict"] for row in json.loads(done.stdout)["rows"]} == {"better"}


def test_train_and_predict(sandbox: Sandbox):
    model = sandbox.folder / "model"
    printed = ok(sandbox, "train", *SMALL, "--pe", "none", "--save", str(model))
    assert "error 0." in printed
    texts = ["the cup of the cup and a cup", "it was said to the of and"]
    lines = ok(sandbox, "predict", str(model), "--format", "jsonl", *texts).splitlines()
    many, none = (float(json.loads(line)["label"]) for line in lines)
    assert many > none + 1
    assert "probability" not in ok(sandbox, "predict", str(model), texts[0])
    refused = sandbox.zoo("generate", str(model), "--prompt", "a", plugins="zoo-counting")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "a counter" in refused.stderr


def test_its_options_belong_to_it(sandbox: Sandbox):
    assert "--word" in ok(sandbox, "bench", "--help")
    other = sandbox.zoo("bench", "--word", "cup", "--plan", plugins="zoo-counting")
    assert other.returncode == 2
    assert "--word is an option of --task count" in other.stderr


def test_no_file_of_the_zoo_names_them():
    names = ('count"', "mean_absolute_error", 'logged"', "zoo_counting")
    for file in Path(zoo.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert not [name for name in names if f'"{name}' in text], file
