"""``--track``: what trackers are shown of a run, and that none of them can hurt it."""

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from small_runs import QUICK, Notices, flags

import zoo
from zoo import tracking
from zoo.cli import main
from zoo.config.request import Request
from zoo.config.settings import Execution
from zoo.execution.base import Ended, JobSetup, Result, TrainJob
from zoo.registry import PartSpec
from zoo.registry.loading import load
from zoo.sweep.records import RecordFile
from zoo.tracking import TrackedProgress

OPTIONS = {**QUICK, "epochs": 2}
BENCH = ["bench", *flags({**OPTIONS, "pe": "rope,sin"}), "--on", "inline"]
del OPTIONS["phases"], OPTIONS["baseline"], OPTIONS["seeds"]
TRAIN = ["train", *flags(OPTIONS), "--on", "inline"]

TRACKERS = '''
"""A tracker that writes all it is shown to a file, and others that fail in one way each."""

import json
import time
from dataclasses import asdict

from zoo import hookimpl
from zoo.tracking import Tracker


class Lines(Tracker):
    def __init__(self, file="lines"):
        self.file = file

    def show(self, run):
        with open(f"{self.file}.jsonl", "a") as file:
            file.write(json.dumps(asdict(run), default=str) + "\\n")


class Raises(Lines):
    def show(self, run):
        raise ConnectionError("the server is away")


class Exits(Lines):
    def show(self, run):
        raise SystemExit("enough")


class Hangs(Lines):
    def show(self, run):
        time.sleep(1000)


class Needs(Lines):
    def show(self, run):
        import a_library_that_nobody_has


class Cannot:
    def __new__(cls, file="lines"):
        raise ValueError("no such project")


@hookimpl
def zoo_register(register):
    for made in (Lines, Raises, Exits, Hangs, Needs, Cannot):
        register("tracker", made.__name__.lower(), made, summary="for tests",
                 parameters={"file": "lines"})
'''
REASONS = {
    "raises": "ConnectionError: the server is away",
    "exits": "SystemExit: enough",
    "needs": "a_library_that_nobody_has is not installed",
    "cannot": "ValueError: no such project",
    "hangs": "it took more than 0.5 s for one run",
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
    """The tracker that docs/comparing.md shows, as code."""
    page = (Path(__file__).parents[1] / "docs" / "comparing.md").read_text("utf-8")
    *_, code = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return str(code)


def runs(file: str = "lines") -> dict[str, dict[str, Any]]:
    """What the tracker was shown of each run, by the run's name."""
    shown = map(json.loads, Path(f"{file}.jsonl").read_text().splitlines())
    return {run["name"]: run for run in shown}


def test_every_training_is_shown_and_trackers_that_fail_are_named_once(
    plugin, tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr(tracking, "PATIENCE", 0.5)
    trackers = ",".join([*REASONS, "lines(file='shown')"])
    assert main([*BENCH, *plugin, "--out", "tracked", "--track", trackers]) == 0
    printed = capfd.readouterr().err.splitlines()
    for name, reason in REASONS.items():
        (warning,) = (line for line in printed if line.startswith(f"warning: tracker '{name}'"))
        assert f"is left out: {reason}; the run goes on" in warning

    records = {record.name: record for record in RecordFile(Path("tracked")).read()}
    shown = runs("shown")
    assert set(shown) == {f"{name} seed 0" for name in records}
    for name, record in records.items():
        run = shown[f"{name} seed 0"]
        assert (run["group"], run["directory"]) == ("tracked", str(tmp_path / "tracked"))
        config = run["config"]
        assert (config["phase"], config["task"], config["seed"]) == ("train", "classify", 0)
        assert config["data"] == record.config["data"]["name"]
        assert {axis: config[axis] for axis in record.cell} == dict(record.cell)
        assert config["lr"] == record.config["training"]["lr"]
        assert [entry["loss"] for entry in run["curve"]] == [e["loss"] for e in record.curve]
        assert (run["status"], run["values"]["accuracy"]) == ("ok", record.metrics["accuracy"])

    # The same run without trackers: the same keys and commands, so all of it is there already.
    assert "--track" not in " ".join(record.command for record in records.values())
    before = Path("tracked/records.jsonl").read_bytes()
    assert main([*BENCH, "--out", "tracked"]) == 0
    assert Path("tracked/records.jsonl").read_bytes() == before


def test_train_is_tracked_and_the_pages_tracker_keeps_a_file_beside_the_model(plugin):
    Path("page.py").write_text(tracker_of_the_page().replace('"lines"', '"page"'))
    options = [*TRAIN, *plugin, "--plugin", "page.py", "--track", "page,lines"]
    before = set(threading.enumerate())
    assert main([*options, "--save", "model"]) == 0
    assert main([*BENCH, *plugin, "--track", "lines", "--plan"]) == 0
    for thread in set(threading.enumerate()) - before:  # none of a tracker stays
        if "_show_all" in thread.name:
            thread.join(10)
            assert not thread.is_alive()
    (run,) = runs().values()
    assert len(run["curve"]) == 2
    assert re.fullmatch(r"model-[0-9a-f]{8}", run["group"])
    (kept,) = Path("runs").glob("model-*/runs.txt")
    assert kept.read_text().startswith("fused+rope+layer+gelu+pre+mean seed 0: ok {")


def test_an_unknown_tracker_is_refused_before_anything_runs(plugin, capfd):
    for name, says in {
        "line": "no tracker 'line'; did you mean 'lines'?",
        "wandb": "Others come from plug-ins: plugins/README.md",
        "": "",
    }.items():
        for more in ([], ["--plan"]):
            assert main([*BENCH, "--out", "out", *plugin, "--track", name, *more]) == 2
            assert says in capfd.readouterr().err
    with pytest.raises(zoo.ZooError, match="did you mean 'lines'"):
        zoo.bench(track="line", plugins="trackers.py", out="out")
    Path("suite.toml").write_text('track = "lines"\n')  # where a run is shown is not what it is
    assert main([*BENCH, "--out", "out", *plugin, "--suite", "suite.toml"]) == 2
    assert "no option 'track'" in capfd.readouterr().err
    assert not Path("out").exists()


def test_trackers_finish_before_costs_are_measured_and_a_failure_is_shown_as_one(plugin, tmp_path):
    request = Request()
    setup = JobSetup("classify", {}, request.sizes, request.training, Execution(device="cpu"))
    job = TrainJob(setup, "rope", "rope", model={"pe": (PartSpec("rope", {}),)}, seed=4)
    progress = TrackedProgress(Notices(), "lines", load(["trackers.py"]))
    execution = {"precision": "fp32", "compile": False}
    progress.begins(tmp_path / "out", {"data": {"name": "order"}, "execution": execution})
    progress.phase("train", 1)
    curve = [{"number": 1, "loss": 2.5}, {"number": 2, "loss": float("nan")}]
    progress.event(Ended(job, Result("diverged", "the loss became nan", curve=curve)))
    progress.phase("cost", 2)
    run = runs()["rope seed 4"]
    assert (run["status"], run["curve"], run["values"]) == ("diverged", [{"loss": 2.5}, {}], {})
    progress.close()
