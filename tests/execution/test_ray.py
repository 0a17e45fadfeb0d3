"""``--on ray``, on real raylets: the same records, and what is left when something is killed."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from ray_nodes import TOKEN, RayCluster
from small_runs import bench, flags, result_of
from test_cluster_nodes import ONE_CELL, Watching

from zoo.cli import main
from zoo.errors import ZooError
from zoo.execution.base import Ended, Event, NodeStatus, Progress
from zoo.execution.cluster.engine import Lost
from zoo.execution.cluster.slot_calls import packed
from zoo.execution.executor_choice import choose_executor
from zoo.execution.ray_executor import RayExecutor
from zoo.registry.loading import load
from zoo.sweep.records import RecordFile

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(900)]
PATIENCE = 300  # seconds for what takes a few on a machine that is not busy


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    """A head and two nodes, of which one has two GPUs by Ray's books."""
    made = RayCluster(tmp_path_factory.mktemp("ray"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
            patch.setenv(name, made.environment[name])
        made.add("one", 1)
        made.add("two", 2, gpus=2)
        yield made
    made.close()


@pytest.fixture
def options(small: dict[str, Any]) -> dict[str, Any]:
    return {**small, **ONE_CELL, "attention": "fused,naive", "device": "cpu", "jobs": 2}


def on(cluster: RayCluster) -> Any:
    return choose_executor(load().registry, "ray", {"address": cluster.address})


def by_key(outcome: Any) -> dict[str, object]:
    assert [record.status for record in outcome.records] == ["ok"] * len(outcome.records)
    return {record.key: result_of(record) for record in outcome.records}


def start(cluster: RayCluster, options: dict[str, Any], out: Path) -> subprocess.Popen[str]:
    """``zoo bench --on ray`` as in a terminal, in a process group of its own."""
    where = ["--on", "ray", "--address", cluster.address, "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, "-m", "zoo", "bench", *flags(options), *where],
        env=cluster.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(condition: Any, what: str, process: subprocess.Popen[str] | None = None) -> float:
    """Wait, and return the seconds that it took."""
    begun = time.monotonic()
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() - begun < PATIENCE, f"not within {PATIENCE} s: {what}"
        time.sleep(0.1)
    return time.monotonic() - begun


def trained(out: Path) -> bool:
    """Whether a record has been written, and another training is at work."""
    records = out / "records.jsonl"
    return records.exists() and records.stat().st_size > 0 and any(out.glob("unfinished/*/c*"))


def pids(processes: list[psutil.Process]) -> set[int]:
    return {process.pid for process in processes}


def said(name: str, seconds: float, record_property: Any) -> None:
    """For the table of kills: how long something took."""
    record_property(name, round(seconds, 1))
    print(f"{name}: {seconds:.1f} s")


def test_ray_gives_the_scores_curves_and_keys_of_one_machine_and_prints_nothing(
    cluster: RayCluster, options: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options = {**options, "seeds": 2, "baseline": "tfidf-logreg(whole=False)"}
    here = bench(tmp_path / "here", {**options, "jobs": 1})
    capfd.readouterr()
    there = bench(tmp_path / "there", options, on=on(cluster))
    assert capfd.readouterr() == ("", "")
    assert by_key(there) == by_key(here)
    assert {record.environment["node"] for record in there.records} <= {"one", "two"}
    assert {record.environment["nice"] for record in there.records} == {0}
    assert "Connected to Ray cluster" in (tmp_path / "there" / "ray.log").read_text()


def test_slots_see_the_gpu_that_they_were_given(cluster: RayCluster) -> None:
    with contextlib.closing(RayExecutor(cluster.address)) as executor:
        (node,) = [node for node in executor.nodes() if node.name == "two"]
        assert (node.cores, node.gpus) == (2, 2)
        engine = executor._connected().engine
        for slot in ("a", "b"):
            engine.start(slot, node.id, 1, 1)
            engine.call(slot, packed("os:getenv", "CUDA_VISIBLE_DEVICES"))
        seen: dict[str, str] = {}
        end = time.monotonic() + PATIENCE
        while len(seen) < 2 and time.monotonic() < end:
            for report in engine.receive(1.0):
                kind, body = pickle.loads(report.message)  # type: ignore[union-attr]
                if kind == "returned":
                    seen[report.slot] = body  # type: ignore[union-attr]
        assert sorted(seen.values()) == ["0", "1"]


def test_a_slot_that_rays_memory_monitor_kills_is_out_of_memory(cluster: RayCluster) -> None:
    """On a node that counts as full from the start."""
    full = {"RAY_memory_usage_threshold": "0.01", "RAY_memory_monitor_refresh_ms": "100"}
    cluster.add("full", 1, **full)
    with contextlib.closing(RayExecutor(cluster.address)) as executor:
        (node,) = [node for node in executor.nodes() if node.name == "full"]
        engine = executor._connected().engine
        engine.start("a", node.id, 1, 0)
        engine.call("a", packed("time:sleep", PATIENCE))
        lost: list[Lost] = []
        end = time.monotonic() + PATIENCE
        while not lost and time.monotonic() < end:
            lost += [report for report in engine.receive(1.0) if isinstance(report, Lost)]
        assert [report.out_of_memory for report in lost] == [True]
        assert "memory" in lost[0].reason
        cluster.kill("full")
    end = time.monotonic() + PATIENCE
    while "full" in names_of(cluster) and time.monotonic() < end:  # or later tests are given it
        time.sleep(0.5)
    assert "full" not in names_of(cluster)


def names_of(cluster: RayCluster) -> set[str]:
    """The names of the nodes that Ray takes to be there."""
    with contextlib.closing(RayExecutor(cluster.address)) as executor:
        return {node.name for node in executor.nodes()}


def test_a_plan_lists_the_nodes(cluster: RayCluster, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--on", "ray", "--address", cluster.address, "--device", "cpu", "--seeds", "4"]
    assert main(["bench", "--plan", "--baseline", "none", *words]) == 0
    out = capsys.readouterr().out
    assert "4 trainings, 3 at once: the time of 2 one after another" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["node", "cores", "GPUs", "at", "once"] in rows
    assert ["one", "1", "0", "1"] in rows
    assert ["two", "2", "2", "2"] in rows


def test_a_wrong_address_or_token_is_refused_in_one_line(cluster: RayCluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.MonkeyPatch.context() as patch:
        other = f"127.0.0.1:{silent.getsockname()[1]}"
        for address, message in (
            ("127.0.0.1:1", "nothing to connect to there"),
            (other, "what listens there did not answer within 3 s"),
            ("ray://127.0.0.1:10001", "Ray's client protocol"),
            ("somewhere", "give HOST:PORT"),
        ):
            begun = time.monotonic()
            with pytest.raises(ZooError) as caught:
                RayExecutor(address).nodes()
            assert message in str(caught.value)
            print(f"{address}: refused after {time.monotonic() - begun:.1f} s")
        patch.setenv("RAY_AUTH_TOKEN", "another" * 8)
        with pytest.raises(ZooError, match="this cluster has another token"):
            RayExecutor(cluster.address).nodes()
        patch.setenv("RAY_AUTH_MODE", "disabled")
        with pytest.raises(ZooError, match="this cluster asks for a token: set RAY_AUTH_MODE"):
            RayExecutor(cluster.address).nodes()


def test_the_cloud_cluster_of_the_documentation_is_one_that_rays_launcher_accepts() -> None:
    import yaml
    from ray.autoscaler._private.util import fillout_defaults, validate_config

    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()
    (block,) = re.findall(r"\n( {4}cluster_name: .*?)\n\n", page, re.DOTALL)
    config = fillout_defaults(yaml.safe_load(textwrap.dedent(block)))
    validate_config(config)
    assert "pip install 'encoder-zoo[ray]'" in config["setup_commands"]
    assert set(config["available_node_types"]) == {"head", "worker"}


def test_a_token_for_a_cluster_that_has_none_is_refused(tmp_path: Path) -> None:
    """Its nodes would accept the driver, and end every actor."""
    with pytest.MonkeyPatch.context() as patch:
        made = RayCluster(tmp_path, "disabled")
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", TOKEN)
        try:
            with pytest.raises(ZooError, match="this cluster has no token, and RAY_AUTH_MODE is"):
                RayExecutor(made.address).nodes()
        finally:
            made.close()


def test_nodes_that_are_killed_and_one_that_joins(
    cluster: RayCluster, options: dict[str, Any], tmp_path: Path, record_property: Any
) -> None:
    """Whole process trees; the one that joins later has to do what is left."""
    options = {**options, "seeds": 3, "epochs": 5}
    whole = bench(tmp_path / "whole", {**options, "jobs": 1})
    times: list[float] = []

    def kill(event: Event) -> None:
        if isinstance(event, Progress) and event.job.kind == "train" and not times:
            times.append(time.monotonic())
            for name in ("one", "two"):
                cluster.kill(name)
            cluster.add("late", 2)
        if isinstance(event, Ended) and event.node == "late":
            times.append(time.monotonic())

    progress = Watching(kill)
    there = bench(tmp_path / "out", options, on=on(cluster), progress=progress)
    assert by_key(there) == by_key(whole)
    assert len(RecordFile(tmp_path / "out").read()) == len(there.records) == 6
    lost = [text for text in progress.notices if text.startswith("again: ")]
    assert lost
    assert all(": one was lost" in text or ": two was lost" in text for text in lost)
    assert not any("rpc" in text.lower() for text in lost), lost
    assert "late" in {record.environment["node"] for record in there.records}
    said("nodes_killed_to_first_result_on_a_new_one", times[1] - times[0], record_property)


def test_a_cost_group_whose_node_is_killed_is_measured_once_on_another(
    cluster: RayCluster, options: dict[str, Any], tmp_path: Path
) -> None:
    """It has all cores of a node, and so nothing beside it."""
    cluster.add("spare", 1)
    cluster.add("other", 1)
    killed: list[str] = []
    room: dict[str, int] = {}

    def kill(event: Event) -> None:
        if isinstance(event, NodeStatus):
            room[event.node] = event.slots
            if event.busy:
                measuring.add(event.node)
        if isinstance(event, Progress) and event.job.kind == "cost" and not killed:
            (name,) = {
                n for n in measuring if any(p in cluster.slots() for p in cluster.processes(n))
            }
            killed.append(name)
            cluster.kill(name)

    measuring: set[str] = set()
    outcome = bench(
        tmp_path,
        {**options, "phases": "cost", "rounds": 4},  # one takes seconds: not over before the kill
        on=on(cluster),
        progress=Watching(kill),
    )
    assert killed
    assert [record.status for record in outcome.records] == ["ok"] * 2
    assert len({record.samples["session"] for record in outcome.records}) == 1
    (node,) = {record.environment["node"] for record in outcome.records}
    assert node not in killed
    assert len(RecordFile(tmp_path).read()) == 2
    assert room[node] == 1


@pytest.mark.parametrize("blow", ["SIGINT", "SIGKILL"])
def test_an_interrupted_driver_leaves_nothing_running_and_the_cluster_alone(
    blow: str,
    cluster: RayCluster,
    options: dict[str, Any],
    tmp_path: Path,
    record_property: Any,
) -> None:
    options = {**options, "seeds": 3, "epochs": 30}
    before = cluster.directories()
    process = start(cluster, options, tmp_path)
    wait_for(lambda: trained(tmp_path), "a record and a checkpoint", process)
    assert cluster.slots()
    assert cluster.directories() - before
    if blow == "SIGINT":
        os.killpg(process.pid, signal.SIGINT)
        begun = time.monotonic()
        out, err = process.communicate(timeout=PATIENCE)
        said("ctrl_c_to_exit", time.monotonic() - begun, record_property)
        assert process.returncode == 130
        assert "zoo bench: interrupted: records are in " in err.splitlines()[-1]
        assert "ray" not in (out + err).lower().replace("--on ray", "")
        assert pd.read_csv(tmp_path / "table.csv").seeds.sum() >= 1
    else:
        process.kill()
        process.wait()
    gone = wait_for(lambda: not cluster.slots(), "the slots are gone")
    said(f"{blow.lower()}_to_slots_gone", gone, record_property)
    wait_for(lambda: cluster.directories() <= before, "their directories are gone")
    finished = len(RecordFile(tmp_path).read())
    with contextlib.closing(RayExecutor(cluster.address)) as executor:
        assert len(executor.nodes()) >= 2
    # It goes on, there or here.
    more = (
        bench(tmp_path, options, on=on(cluster))
        if blow == "SIGINT"
        else bench(tmp_path, {**options, "jobs": 1})
    )
    assert by_key(more)
    assert more.trained == 6 - finished


def test_a_ray_of_ones_own_starts_and_ends_with_the_run(
    options: dict[str, Any], tmp_path: Path
) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path)}
    words = [*flags(options), "--on", "ray", "--jobs", "1", "--out", str(tmp_path / "out")]
    addresses: set[str] = set()
    process = subprocess.Popen(
        [sys.executable, "-m", "zoo", "bench", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    addresses |= {
                        connection.laddr.ip.removeprefix("::ffff:")
                        for connection in child.net_connections("tcp")
                        if connection.status == psutil.CONN_LISTEN
                    }
        time.sleep(0.3)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert addresses == {"127.0.0.1"}
    assert [line for line in err.splitlines() if not line.startswith(("train", "newswire"))] == []
    assert all("@" in line for line in err.splitlines() if line.startswith("train "))
    assert "Started a local Ray instance" in (tmp_path / "out" / "ray.log").read_text()
    assert not (tmp_path / ".ray").exists()
    assert out.count("\n") > 3


def test_a_head_that_is_gone_ends_the_run_with_its_tables_written(
    cluster: RayCluster, options: dict[str, Any], tmp_path: Path, record_property: Any
) -> None:
    """The last of these tests: nothing is left of the cluster."""
    # More than can end before Ray notices, which takes it half a minute.
    process = start(cluster, {**options, "seeds": 300, "epochs": 30}, tmp_path)
    wait_for(lambda: trained(tmp_path), "a record and a checkpoint", process)
    cluster.kill("head")
    begun = time.monotonic()
    _, err = process.communicate(timeout=PATIENCE)
    said("head_killed_to_exit", time.monotonic() - begun, record_property)
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith("zoo bench: error: Ray is gone")
    assert (tmp_path / "table.csv").exists()


@pytest.mark.gpu
def test_a_driver_without_a_gpu_drives_slots_that_each_have_one_of_their_own(
    small: dict[str, Any], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    import torch

    count = min(2, torch.cuda.device_count())
    made = RayCluster(tmp_path_factory.mktemp("ray"))
    try:
        made.add("gpus", 2, gpus=count)
        made.environment["CUDA_VISIBLE_DEVICES"] = ""
        options = {**small, **ONE_CELL, "attention": "fused,naive", "device": "auto", "seeds": 2}
        process = start(made, options, tmp_path)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    finally:
        made.close()
    records = RecordFile(tmp_path).read()
    assert {record.environment["device"] for record in records} == {"cuda"}
    assert len({record.environment["visible_gpus"] for record in records}) == count
