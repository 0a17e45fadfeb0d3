"""``--on ray``, on real raylets: the same records as on one machine, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from ray_nodes import (
    PATIENCE,
    TOKEN,
    RayCluster,
    by_key,
    names_of,
    on,
    said,
    start,
    trained,
    wait_for,
)
from small_runs import bench, flags
from test_cluster_nodes import ONE_CELL

from zoo.cli import main
from zoo.errors import ZooError
from zoo.execution.cluster.engine import Lost
from zoo.execution.cluster.slot_calls import packed
from zoo.execution.ray_executor import RayExecutor
from zoo.sweep.records import RecordFile

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(900)]


def test_ray_gives_the_scores_curves_and_keys_of_one_machine_and_prints_nothing(
    ray_cluster: RayCluster,
    ray_options: dict[str, Any],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    ray_options = {**ray_options, "seeds": 2, "baseline": "tfidf-logreg(whole=False)"}
    here = bench(tmp_path / "here", {**ray_options, "jobs": 1})
    capfd.readouterr()
    there = bench(tmp_path / "there", ray_options, on=on(ray_cluster))
    assert capfd.readouterr() == ("", "")
    assert by_key(there) == by_key(here)
    assert {record.environment["node"] for record in there.records} <= {"one", "two"}
    assert {record.environment["nice"] for record in there.records} == {0}
    assert "Connected to Ray cluster" in (tmp_path / "there" / "ray.log").read_text()


def test_slots_see_the_gpu_that_they_were_given(ray_cluster: RayCluster) -> None:
    with contextlib.closing(RayExecutor(ray_cluster.address)) as executor:
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


def test_a_slot_that_rays_memory_monitor_kills_is_out_of_memory(ray_cluster: RayCluster) -> None:
    """On a node that counts as full from the start."""
    full = {"RAY_memory_usage_threshold": "0.01", "RAY_memory_monitor_refresh_ms": "100"}
    ray_cluster.add("full", 1, **full)
    with contextlib.closing(RayExecutor(ray_cluster.address)) as executor:
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
        ray_cluster.kill("full")
    end = time.monotonic() + PATIENCE
    while "full" in names_of(ray_cluster) and time.monotonic() < end:  # or later tests are given it
        time.sleep(0.5)
    assert "full" not in names_of(ray_cluster)


def test_a_plan_lists_the_nodes(
    ray_cluster: RayCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--on", "ray", "--address", ray_cluster.address, "--device", "cpu", "--seeds", "4"]
    assert main(["bench", "--plan", "--baseline", "none", *words]) == 0
    out = capsys.readouterr().out
    assert "4 trainings, 3 at once: the time of 2 one after another" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["node", "cores", "GPUs", "at", "once"] in rows
    assert ["one", "1", "0", "1"] in rows
    assert ["two", "2", "2", "2"] in rows


def test_a_wrong_address_or_token_is_refused_in_one_line(ray_cluster: RayCluster) -> None:
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
            RayExecutor(ray_cluster.address).nodes()
        patch.setenv("RAY_AUTH_MODE", "disabled")
        with pytest.raises(ZooError, match="this cluster asks for a token: set RAY_AUTH_MODE"):
            RayExecutor(ray_cluster.address).nodes()


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


def test_a_ray_of_ones_own_starts_and_ends_with_the_run(
    ray_options: dict[str, Any], tmp_path: Path
) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path)}
    words = [*flags(ray_options), "--on", "ray", "--jobs", "1", "--out", str(tmp_path / "out")]
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
        ray_options = {
            **small,
            **ONE_CELL,
            "attention": "fused,naive",
            "device": "auto",
            "seeds": 2,
        }
        process = start(made, ray_options, tmp_path)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    finally:
        made.close()
    records = RecordFile(tmp_path).read()
    assert {record.environment["device"] for record in records} == {"cuda"}
    assert len({record.environment["visible_gpus"] for record in records}) == count


def test_a_head_that_is_gone_ends_the_run_with_its_tables_written(
    ray_cluster: RayCluster, ray_options: dict[str, Any], tmp_path: Path, record_property: Any
) -> None:
    """The last of these tests: nothing is left of the cluster."""
    # More than can end before Ray notices, which takes it half a minute.
    process = start(ray_cluster, {**ray_options, "seeds": 300, "epochs": 30}, tmp_path)
    wait_for(lambda: trained(tmp_path), "a record and a checkpoint", process)
    ray_cluster.kill("head")
    begun = time.monotonic()
    _, err = process.communicate(timeout=PATIENCE)
    said("head_killed_to_exit", time.monotonic() - begun, record_property)
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith("zoo bench: error: Ray is gone")
    assert (tmp_path / "table.csv").exists()
