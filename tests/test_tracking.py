"""``--track``: what trackers are shown of a run, and that none of them can hurt it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from small_runs import QUICK, Notices, flags

import zoo
from zoo.cli import main
from zoo.config.request import Request
from zoo.config.settings import Execution
from zoo.execution.base import (
    CostJob,
    CostMember,
    Ended,
    JobSetup,
    ModelSpec,
    Progress,
    Result,
    Started,
    Step,
    TrainJob,
)
from zoo.registry.loading import load
from zoo.sweep import tracked_progress
from zoo.sweep.progress import Shown, Silent
from zoo.sweep.records import RecordFile
from zoo.sweep.tracked_progress import TrackedProgress, find_trackers
from zoo.tracking import TrackerProcess

OPTIONS = {**QUICK, "epochs": 2}
BENCH = ["bench", *flags({**OPTIONS, "pe": "rope,sin"}), "--on", "inline"]
del OPTIONS["phases"], OPTIONS["baseline"], OPTIONS["seeds"]
TRAIN = ["train", *flags(OPTIONS), "--on", "inline"]

TRACKERS = '''
"""A tracker that writes all it is told to a file, and others that fail in one way each."""

import json
import os
import time
from dataclasses import asdict

from zoo import hookimpl
from zoo.tracking import Tracker


class Lines(Tracker):
    def __init__(self, file="lines"):
        self.file = file

    def write(self, *what):
        with open(f"{self.file}.jsonl", "a") as file:
            file.write(json.dumps([self.name, *what]) + "\\n")

    def start(self, run):
        self.name = run.name
        self.write("start", run.group, str(run.directory), run.config)
        print("a tracker may print")

    def log(self, values, step):
        self.write("log", values, step)

    def end(self, status, values):
        self.write("end", status, values)


class Raises(Lines):
    def log(self, values, step):
        raise ConnectionError("the server is away")


class Exits(Lines):
    def start(self, run):
        raise SystemExit("enough")


class Dies(Lines):
    def start(self, run):
        os._exit(3)


class Hangs(Lines):
    def end(self, status, values):
        time.sleep(1000)


class Needs(Lines):
    def start(self, run):
        import a_library_that_nobody_has


class Cannot:
    def __new__(cls, file="lines"):
        raise ValueError("no such project")


@hookimpl
def zoo_register(register):
    for made in (Lines, Raises, Exits, Dies, Hangs, Needs, Cannot):
        register("tracker", made.__name__.lower(), made, summary="for tests",
                 parameters={"file": "lines"})
'''
REASONS = {
    "raises": "ConnectionError: the server is away",
    "exits": "SystemExit: enough",
    "dies": "its process died",
    "needs": "a_library_that_nobody_has is not installed",
    "cannot": "ValueError: no such project",
}


@pytest.fixture
def plugin(tmp_path, monkeypatch) -> list[str]:
    """Options that name the trackers above; the test runs in an empty folder."""
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ZOO_PLUGINS", "")
    monkeypatch.chdir(tmp_path)
    Path("trackers.py").write_text(TRACKERS)
    return ["--plugin", "trackers.py"]


def tracker_of_the_page() -> str:
    """The tracker that docs/tracking.md shows, as code."""
    page = (Path(__file__).parents[1] / "docs" / "tracking.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return str(code)


def lines(file: str = "lines") -> dict[str, list[list[Any]]]:
    """What the tracker was told of each run, by the run's name."""
    found: dict[str, list[list[Any]]] = {}
    for line in Path(f"{file}.jsonl").read_text().splitlines():
        name, *what = json.loads(line)
        found.setdefault(name, []).append(what)
    return found


def test_a_run_for_every_training_and_nothing_of_it_in_the_records(plugin, tmp_path, capfd):
    trackers = ",".join([*REASONS, "lines(file='told')"])
    assert main([*BENCH, *plugin, "--out", "tracked", "--track", trackers]) == 0
    printed = capfd.readouterr()
    for name, reason in REASONS.items():
        (warning,) = (
            s for s in printed.err.splitlines() if s.startswith(f"warning: tracker '{name}'")
        )
        assert f"is left out: {reason}; the run goes on" in warning
    assert "may print" not in printed.out + printed.err

    records = {r.name: r for r in RecordFile(Path("tracked")).read()}
    told = lines("told")
    assert set(told) == {f"{name} seed 0" for name in records}
    for name, record in records.items():
        (start, group, directory, config), *logs, (end, status, values) = told[f"{name} seed 0"]
        assert (start, group, directory) == ("start", "tracked", str(tmp_path / "tracked"))
        assert (config["phase"], config["task"], config["seed"]) == ("train", "classify", 0)
        assert config["data"] == record.config["data"]["name"]
        assert {axis: config[axis] for axis in record.cell} == dict(record.cell)
        assert config["lr"] == record.config["training"]["lr"]
        assert [what for what, *_ in logs] == ["log"] * len(record.curve)
        assert [step for _, _, step in logs] == list(range(1, len(record.curve) + 1))
        assert [v["loss"] for _, v, _ in logs] == [entry["loss"] for entry in record.curve]
        assert (end, status, values["accuracy"]) == ("end", "ok", record.metrics["accuracy"])

    # The same run without trackers: the same keys and commands, so all of it is there already.
    assert "--track" not in " ".join(r.command for r in records.values())
    before = Path("tracked/records.jsonl").read_bytes()
    assert main([*BENCH, "--out", "tracked"]) == 0
    assert f"train: {len(records)} there already" in capfd.readouterr().err
    assert Path("tracked/records.jsonl").read_bytes() == before


def test_a_bench_from_python_is_tracked(plugin):
    options = {**QUICK, "pe": "sin", "baseline": "majority"}
    zoo.bench(plugins="trackers.py", track="lines", on="inline", out="python", **options)
    told = lines()
    assert list(told) == ["fused+sin+layer+gelu+pre+mean seed 0", "majority seed 0"]
    assert [one[-1][:2] for one in told.values()] == [["end", "ok"]] * 2
    with pytest.raises(zoo.ZooError, match="did you mean 'lines'"):
        zoo.bench(track="line", plugins="trackers.py", out="none")


def test_train_is_tracked_and_the_pages_tracker_keeps_a_file_beside_the_model(plugin, capfd):
    Path("page.py").write_text(tracker_of_the_page().replace('"lines"', '"page"'))
    options = [*TRAIN, *plugin, "--plugin", "page.py", "--track", "page,lines,dies"]
    assert main([*options, "--save", "model"]) == 0
    (run,) = lines().values()
    assert [what for what, *_ in run] == ["start", "log", "log", "end"]
    assert re.fullmatch(r"model-[0-9a-f]{8}", run[0][1])
    assert "tracker 'dies' is left out: its process died" in capfd.readouterr().err
    assert "--track" not in json.loads(Path("model/config.json").read_text())["command"]
    (kept,) = Path("runs").glob("model-*/runs.txt")
    assert kept.read_text().startswith("fused+rope+layer+gelu+pre+mean seed 0: ok {")


def test_an_unknown_tracker_is_refused_before_anything_runs(plugin, capfd):
    assert main([*BENCH, "--out", "out", *plugin, "--track", "line"]) == 2
    error = capfd.readouterr().err
    assert "no tracker 'line'; did you mean 'lines'?" in error
    assert main([*BENCH, "--out", "out", "--track", "wandb"]) == 2
    error = capfd.readouterr().err
    assert "pip install './plugins/zoo-trackers[wandb]'" in error
    assert main([*BENCH, "--out", "out", "--track", ""]) == 2
    Path("suite.toml").write_text('track = "lines"\n')  # where a run is shown is not what it is
    assert main([*BENCH, "--out", "out", *plugin, "--suite", "suite.toml"]) == 2
    assert "no option 'track'" in capfd.readouterr().err
    assert not Path("out").exists()


REQUEST = Request()
SETUP = JobSetup("classify", {}, REQUEST.sizes, REQUEST.training, Execution(device="cpu"))
CONFIG = {"data": {"name": "order"}, "execution": {"precision": "fp32", "compile": False}}


def training(key: str) -> TrainJob:
    return TrainJob(SETUP, key, key, model=ModelSpec({"attention": "fused", "pe": key}), seed=4)


def tracked(directory: Path) -> TrackedProgress:
    progress = TrackedProgress(Silent(), find_trackers("lines", load(["trackers.py"])))
    progress.begins(directory, CONFIG)
    return progress


def test_trackers_rest_during_cost_measurements(plugin, tmp_path):
    progress = tracked(tmp_path / "out")
    progress.phase("train", 1)
    progress.event(Started(training("rope")))
    progress.event(Progress(training("rope"), Step(1, 1, 2.5)))
    progress.event(Ended(training("rope"), Result(metrics={"accuracy": 0.5, "errors": [[1]]})))
    progress.phase("cost", 2)
    assert lines()["fused+rope seed 4"][-1] == ["end", "ok", {"accuracy": 0.5}]

    reference, other = (ModelSpec({"attention": "fused", "pe": pe}) for pe in ("rope", "sin"))
    members = CostMember(reference), CostMember(reference, twin=True), CostMember(other)
    for group in ("group 1", "group 2"):
        job = CostJob(SETUP, group, group, members=members)
        cost = Result(metrics={"train_tokens_per_second": 1e4})
        failed = Result("oom", "out of memory")
        progress.event(Started(job))
        progress.event(Ended(job, Result(members=(cost, Result(), failed))))
    assert set(lines()) == {"fused+rope seed 4"}, "a tracker worked during a measurement"
    progress.close()
    told = lines()
    assert told["fused+rope cost"][1:] == [["end", "ok", {"train_tokens_per_second": 1e4}]]
    assert told["fused+rope cost"][0][3]["phase"] == "cost"
    assert told["fused+sin cost"][1:] == [["end", "oom", {}]]


def test_an_interrupted_run_is_ended_as_that(plugin, tmp_path):
    progress = tracked(tmp_path / "out")
    progress.phase("train", 2)
    progress.event(Started(training("rope")))
    progress.event(Started(training("rope")))  # again, on another machine
    progress.event(Progress(training("rope"), Step(1, 2, float("nan"))))
    progress.close()
    assert [what for what, *_ in lines()["fused+rope seed 4"]] == ["start", "end"]
    assert lines()["fused+rope seed 4"][-1] == ["end", "interrupted", {}]


def test_trackers_that_hang_are_left_out(plugin, tmp_path, monkeypatch, capfd):
    trackers = find_trackers("hangs,lines(file='other')", load(["trackers.py"]))
    progress = TrackedProgress(Shown(), trackers)
    progress.begins(tmp_path, CONFIG)
    progress.event(Started(training("rope")))
    for tracker in trackers:
        tracker.wait(60)
    begun = time.monotonic()
    progress.event(Ended(training("rope"), Result()))
    assert time.monotonic() - begun < 60, "the run waited for a tracker"
    trackers[1].wait(60)
    with monkeypatch.context() as patch:
        patch.setattr(tracked_progress, "PATIENCE", 0.3)
        progress.phase("cost", 1)
    progress.close()
    (warning,) = (s for s in capfd.readouterr().err.splitlines() if "warning" in s)
    assert "tracker 'hangs' is left out: it did not do its work in time" in warning
    assert lines("other")["fused+rope seed 4"][-1] == ["end", "ok", {}]


def test_a_run_whose_process_was_killed_is_ended_by_its_tracker(plugin, tmp_path):
    (tracker,) = find_trackers("lines", load(["trackers.py"]))
    progress = TrackedProgress(Shown(), [tracker])
    progress.begins(tmp_path, CONFIG)
    progress.event(Started(training("rope")))
    tracker.wait(30)
    tracker.close(30)  # as when the pipe closes because its writer is gone
    assert tracker.failure == ""
    assert lines()["fused+rope seed 4"][-1] == ["end", "interrupted", {}]


def test_a_tracker_that_fails_while_it_is_closed_costs_one_warning():
    shown = Notices()
    TrackedProgress(shown, [TrackerProcess("no-such-tracker", ())]).close()
    (warning,) = shown.lines
    assert warning.startswith("warning: tracker 'no-such-tracker' is left out: ")
