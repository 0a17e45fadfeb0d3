"""Each tracker, with the real library and offline, as the library itself reads it back."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import struct
import sys
from pathlib import Path

import pytest

from zoo.registry.loading import load
from zoo.tracking import TrackedRun, TrackerThread

CONFIG = {"phase": "train", "attention": "fused", "dim": 16, "lr": 0.5, "compile": False}
LOSSES = {"a": [3.0, 2.0, 1.0], "b": [6.0, 5.0, 4.0]}


def needs(library: str) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(library) is None
    return pytest.mark.skipif(missing, reason=f"{library} is not installed")


@pytest.fixture(autouse=True)
def _installed_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZOO_PLUGINS", raising=False)


def track(name: str, directory: Path) -> None:
    """Two runs: one that ended well, and one that crashed."""
    tracker = TrackerThread(load().registry.choose("tracker", name))
    for key, status in {"a": "ok", "b": "crashed"}.items():
        curve = [{"loss": loss} for loss in LOSSES[key]]
        values = {"accuracy": 0.75, "params": 1234.0} if status == "ok" else {}
        run = TrackedRun(f"fused+rope {key}", "bench", directory, CONFIG, status, curve, values)
        tracker.show(run)
    tracker.wait()
    assert tracker.failure is None


@needs("tensorboard")
def test_tensorboard(tmp_path: Path) -> None:
    track("tensorboard", tmp_path)
    from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    events = EventMultiplexer().AddRunsFromDirectory(str(tmp_path / "tensorboard")).Reload()
    for key, losses in LOSSES.items():
        scalars = events.Scalars(f"train/fused+rope {key}", "loss")
        assert [(one.step, one.value) for one in scalars] == list(enumerate(losses, start=1))
    (accuracy,) = events.Scalars("train/fused+rope a", "accuracy")
    assert accuracy.value == 0.75
    metadata = events.SummaryMetadata("train/fused+rope b", "_hparams_/session_start_info")
    data = HParamsPluginData.FromString(metadata.plugin_data.content).session_start_info.hparams
    assert data["attention"].string_value == "fused"
    assert data["lr"].number_value == 0.5
    assert data["status"].string_value == "crashed"


@needs("mlflow")
def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    track("mlflow(experiment='mine')", tmp_path)
    from mlflow.tracking import MlflowClient

    client = MlflowClient()
    experiment = client.get_experiment_by_name("mine")
    assert experiment is not None
    found = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    assert {name: run.info.status for name, run in found.items()} == {
        "fused+rope a": "FINISHED",
        "fused+rope b": "FAILED",
    }
    for key, losses in LOSSES.items():
        run = found[f"fused+rope {key}"]
        history = client.get_metric_history(run.info.run_id, "loss")
        assert [(one.step, one.value) for one in history] == list(enumerate(losses, start=1))
        assert run.data.params["attention"] == "fused"
        assert run.data.tags["group"] == "bench"
    assert found["fused+rope a"].data.metrics["accuracy"] == 0.75


@needs("trackio")
def test_trackio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    track("trackio(project='mine')", tmp_path)
    with sqlite3.connect(tmp_path / "trackio" / "mine.db") as database:
        rows = database.execute("SELECT run_name, step, metrics FROM metrics ORDER BY id")
        logged = [(name, step, json.loads(metrics)) for name, step, metrics in rows]
        configs = dict(database.execute("SELECT run_name, config FROM configs").fetchall())
    for key, losses in LOSSES.items():
        name = f"bench fused+rope {key}"
        found = [(step, m["loss"]) for run, step, m in logged if run == name and "loss" in m]
        assert found == list(enumerate(losses, start=1))
        assert json.loads(configs[name])["attention"] == "fused"
    assert [m["accuracy"] for _, _, m in logged if "accuracy" in m] == [0.75]


@needs("wandb")
def test_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    track("wandb(project='mine')", tmp_path)
    import wandb

    wandb.teardown()  # as at the end of a process: until then its files need not be whole
    from wandb.proto.wandb_internal_pb2 import Record

    found = {}
    for file in (tmp_path / "wandb").glob("offline-run-*/run-*.wandb"):
        records = [Record.FromString(content) for content in log_records(file)]
        (run,) = (record.run for record in records if record.HasField("run"))
        assert (run.project, run.run_group, run.job_type) == ("mine", "bench", "train")
        assert {u.key: json.loads(u.value_json) for u in run.config.update}["lr"] == 0.5
        history = [record.history for record in records if record.HasField("history")]
        items = [{i.key or i.nested_key[0]: i.value_json for i in one.item} for one in history]
        (end,) = (record.exit.exit_code for record in records if record.HasField("exit"))
        found[run.display_name] = [(int(i["_step"]), float(i["loss"])) for i in items], end
        summaries = [record.summary.update for record in records if record.HasField("summary")]
        summary = {u.key or u.nested_key[0]: u.value_json for one in summaries for u in one}
        assert summary["status"] == ('"ok"' if end == 0 else '"crashed"')
        assert ("accuracy" in summary) == (end == 0)
    assert found == {
        "fused+rope a": (list(enumerate(LOSSES["a"], start=1)), 0),
        "fused+rope b": (list(enumerate(LOSSES["b"], start=1)), 1),
    }


def log_records(file: Path) -> list[bytes]:
    """The records of a LevelDB log of one block, as wandb writes it after 7 bytes of its own."""
    content, place, records = file.read_bytes(), 7, []
    assert len(content) < 2**15, "a second block begins"
    while place + 7 <= len(content):
        _, length, kind = struct.unpack_from("<IHB", content, place)
        assert kind == 1, "a record in several pieces"
        records.append(content[place + 7 : place + 7 + length])
        place += 7 + length
    return records


def test_a_library_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    tracker = TrackerThread(load().registry.choose("tracker", "wandb"))
    tracker.show(TrackedRun("a", "bench", tmp_path, CONFIG))
    tracker.wait()
    assert tracker.failure == "wandb is not installed"
