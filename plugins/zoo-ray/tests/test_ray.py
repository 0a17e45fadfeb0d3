"""``--on ray``, on real raylets: the same records as on one machine, also where a node is lost."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from ray_nodes import RayCluster, bench, finished, records, results, wait_for, weights

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def local(cluster: RayCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run on one machine that those on the cluster are compared with."""
    out = tmp_path_factory.mktemp("local")
    finished(bench(out, cluster.environment, on="local", seeds=2, epochs=12))
    return out


def test_a_cluster_gives_the_records_of_one_machine(
    cluster: RayCluster, local: Path, tmp_path: Path
) -> None:
    users = cluster.root / "one/tmp/zoo-2024-results"  # the node's temporary folder is not ours
    users.mkdir()
    err = finished(cluster.bench(tmp_path, seeds=2, epochs=12, phases="train,cost", blocks=2))
    assert users.is_dir()
    trained = [record for record in records(tmp_path) if record["kind"] == "train"]
    costs = [record for record in records(tmp_path) if record["kind"] == "cost"]
    assert {record["key"] for record in trained} == set(results(local))
    assert {k: v for k, v in results(tmp_path).items() if k in results(local)} == results(local)
    assert {record["environment"]["node"] for record in trained} == {"one", "two"}
    # They are larger than what fits a message between two nodes.
    assert all(len(content) > 100_000 for content in weights(tmp_path).values())
    assert weights(tmp_path) == weights(local) != {}
    assert len({record["environment"]["node"] for record in costs}) == 1
    for record in records(tmp_path):
        assert record["environment"]["nice"] == 0
        assert record["environment"]["device"] == "cpu"
    assert "Ray" not in err.replace("--on ray", "")
    assert "Connected to Ray cluster" in (tmp_path / "ray.log").read_text()
    assert not (tmp_path / "unfinished").exists()


def test_a_node_that_is_lost_loses_and_doubles_nothing(
    cluster: RayCluster, local: Path, tmp_path: Path
) -> None:
    process = cluster.bench(tmp_path, seeds=2, epochs=12)
    wait_for(lambda: cluster.trains("two") and records(tmp_path), "a job on node two", process)
    cluster.kill("two")
    err = finished(process)
    assert results(tmp_path) == results(local)
    assert {record["environment"]["node"] for record in records(tmp_path)} >= {"one"}
    assert "two was lost" in err


@pytest.mark.slow
def test_a_wrong_token_is_refused_in_one_line(cluster: RayCluster, tmp_path: Path) -> None:
    for name, value in (("RAY_AUTH_TOKEN", "another" * 8), ("RAY_AUTH_MODE", "disabled")):
        environment = {**cluster.environment, name: value}
        process = bench(tmp_path, environment, on="ray", address=cluster.address)
        _, err = process.communicate(timeout=60)
        print(err)
        assert process.returncode == 2
        assert err.splitlines()[-1].startswith(f"zoo bench: error: --address {cluster.address}: ")
        assert err.count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_ends_everything_soon_and_the_same_command_goes_on(
    cluster: RayCluster, tmp_path: Path
) -> None:
    """And so does a kill, of which the submitting process hears nothing."""
    for blow in (signal.SIGINT, signal.SIGKILL):
        process = cluster.bench(tmp_path, seeds=6, epochs=12)
        wait_for(lambda: records(tmp_path) and cluster.jobs("one"), "a record and jobs", process)
        begun = time.monotonic()
        os.killpg(process.pid, blow)
        _, err = process.communicate()
        exited = time.monotonic() - begun
        gone = wait_for(lambda: not cluster.jobs("one"), "the jobs are gone")
        print(f"{blow.name}: exit after {exited:.1f} s, jobs gone {gone:.1f} s later")
        if blow == signal.SIGINT:
            assert process.returncode == 130
            assert "interrupted: records are in" in err
    finished(cluster.bench(tmp_path, seeds=6, epochs=12))
    assert len(results(tmp_path)) == 12


@pytest.mark.slow
def test_a_head_that_is_gone_ends_the_run_in_one_line(cluster: RayCluster, tmp_path: Path) -> None:
    """The last of these tests: nothing is left of the cluster."""
    process = cluster.bench(tmp_path, seeds=100, epochs=12)
    wait_for(lambda: records(tmp_path), "a record", process)
    cluster.kill("head")
    begun = time.monotonic()
    _, err = process.communicate(timeout=300)
    print(f"exit {time.monotonic() - begun:.1f} s after the head was killed")
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith("zoo bench: error: Ray is gone")
    assert (tmp_path / "table.csv").exists()
