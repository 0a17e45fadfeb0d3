"""``--on ray``: nodes, jobs and drivers that are killed, on real raylets."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ray_nodes import (
    PATIENCE,
    RayCluster,
    by_key,
    names_of,
    on,
    said,
    start,
    trained,
    wait_for,
)
from small_runs import bench
from test_cluster_nodes import Watching

from zoo.execution.base import Ended, Event, NodeStatus, Progress
from zoo.sweep.records import RecordFile

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(900)]


def test_nodes_that_are_killed_and_one_that_joins(
    ray_cluster: RayCluster, ray_options: dict[str, Any], tmp_path: Path, record_property: Any
) -> None:
    """Whole process trees; the one that joins later has to do what is left."""
    ray_options = {**ray_options, "seeds": 3, "epochs": 5}
    whole = bench(tmp_path / "whole", {**ray_options, "jobs": 1})
    times: list[float] = []

    def kill(event: Event) -> None:
        if isinstance(event, Progress) and event.job.kind == "train" and not times:
            times.append(time.monotonic())
            for name in ("one", "two"):
                ray_cluster.kill(name)
            ray_cluster.add("late", 2)
        if isinstance(event, Ended) and event.node == "late":
            times.append(time.monotonic())

    progress = Watching(kill)
    there = bench(tmp_path / "out", ray_options, on=on(ray_cluster), progress=progress)
    assert by_key(there) == by_key(whole)
    assert len(RecordFile(tmp_path / "out").read()) == len(there.records) == 6
    lost = [text for text in progress.notices if text.startswith("again: ")]
    assert lost
    assert all(": one was lost" in text or ": two was lost" in text for text in lost)
    assert not any("rpc" in text.lower() for text in lost), lost
    assert "late" in {record.environment["node"] for record in there.records}
    said("nodes_killed_to_first_result_on_a_new_one", times[1] - times[0], record_property)


def test_a_cost_group_whose_node_is_killed_is_measured_once_on_another(
    ray_cluster: RayCluster, ray_options: dict[str, Any], tmp_path: Path
) -> None:
    """It has all cores of a node, and so nothing beside it."""
    ray_cluster.add("spare", 1)
    ray_cluster.add("other", 1)
    killed: list[str] = []
    room: dict[str, int] = {}

    def kill(event: Event) -> None:
        if isinstance(event, NodeStatus):
            room[event.node] = event.slots
            if event.busy:
                measuring.add(event.node)
        if isinstance(event, Progress) and event.job.kind == "cost" and not killed:
            (name,) = {
                n
                for n in measuring
                if any(p in ray_cluster.slots() for p in ray_cluster.processes(n))
            }
            killed.append(name)
            ray_cluster.kill(name)

    measuring: set[str] = set()
    outcome = bench(
        tmp_path,
        {
            **ray_options,
            "phases": "cost",
            "rounds": 4,
        },  # one takes seconds: not over before the kill
        on=on(ray_cluster),
        progress=Watching(kill),
    )
    assert killed
    assert [record.status for record in outcome.records] == ["ok"] * 2
    assert len({record.samples["session"] for record in outcome.records}) == 1
    (node,) = {record.environment["node"] for record in outcome.records}
    assert node not in killed
    assert len(RecordFile(tmp_path).read()) == 2
    assert room[node] == 1


def test_a_driver_that_is_interrupted_and_then_killed_leaves_nothing_running_and_goes_on(
    ray_cluster: RayCluster, ray_options: dict[str, Any], tmp_path: Path, record_property: Any
) -> None:
    """The same command three times: Ctrl-C ends the first, SIGKILL the next; the last is here."""
    ray_options = {**ray_options, "seeds": 5, "epochs": 30}
    nothing = ray_cluster.directories()

    def begin() -> subprocess.Popen[str]:
        finished = len(RecordFile(tmp_path).read())
        process = start(ray_cluster, ray_options, tmp_path)
        wait_for(lambda: trained(tmp_path, finished), "a record and a checkpoint", process)
        assert ray_cluster.slots()
        assert ray_cluster.directories() - nothing
        return process

    def left_alone(blow: str) -> None:
        gone = wait_for(lambda: not ray_cluster.slots(), "the slots are gone")
        said(f"{blow}_to_slots_gone", gone, record_property)
        wait_for(lambda: ray_cluster.directories() <= nothing, "their directories are gone")
        assert len(names_of(ray_cluster)) >= 2

    process = begin()
    os.killpg(process.pid, signal.SIGINT)
    begun = time.monotonic()
    out, err = process.communicate(timeout=PATIENCE)
    said("ctrl_c_to_exit", time.monotonic() - begun, record_property)
    assert process.returncode == 130
    assert "zoo bench: interrupted: records are in " in err.splitlines()[-1]
    assert "ray" not in (out + err).lower().replace("--on ray", "")
    assert pd.read_csv(tmp_path / "table.csv").seeds.sum() >= 1
    left_alone("ctrl_c")

    process = begin()
    process.kill()
    process.wait()
    left_alone("sigkill")

    finished = len(RecordFile(tmp_path).read())
    more = bench(tmp_path, {**ray_options, "jobs": 1})
    assert len(by_key(more)) == 10
    assert more.trained == 10 - finished
