"""``--on ray``, on real raylets: the same records as on one machine, also where a node is lost."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from ray_nodes import RayCluster, bench, finished, records, results, wait_for

pytestmark = pytest.mark.timeout(900)


def test_a_cluster_gives_the_records_of_one_machine_also_where_a_node_is_lost(
    cluster: RayCluster, tmp_path: Path
) -> None:
    options = {"seeds": 2, "epochs": 12}
    finished(bench(tmp_path / "local", cluster.environment, on="local", **options))
    local, out = results(tmp_path / "local"), tmp_path / "out"
    users = cluster.root / "one/tmp/zoo-2024-results"  # the node's temporary folder is not ours
    users.mkdir()
    process = cluster.bench(out, **options, phases="train,cost", blocks=2)
    wait_for(lambda: cluster.trains("two") and records(out), "a job on node two", process)
    cluster.kill("two")
    err = finished(process)
    assert users.is_dir()
    assert "two was lost" in err
    assert {key: result for key, result in results(out).items() if key in local} == local
    costs = [record for record in records(out) if record["kind"] == "cost"]
    assert len(records(out)) - len(costs) == len(local)
    assert {record["environment"]["node"] for record in costs} == {"one"}
    for record in records(out):
        assert record["environment"]["nice"] == os.nice(0)  # Ray's own niceness would be 15
        assert record["environment"]["device"] == "cpu"
    assert "Ray" not in err.replace("--on ray", "")
    assert "Connected to Ray cluster" in (out / "ray.log").read_text()
    assert not (out / "unfinished").exists()


@pytest.mark.slow
def test_a_wrong_token_is_refused_in_one_line(cluster: RayCluster, tmp_path: Path) -> None:
    for name, value in (("RAY_AUTH_TOKEN", "another" * 8), ("RAY_AUTH_MODE", "disabled")):
        environment = {**cluster.environment, name: value}
        process = bench(tmp_path, environment, on=f"ray(address='{cluster.address}')")
        _, err = process.communicate(timeout=60)
        print(err)
        assert process.returncode == 2
        assert err.splitlines()[-1].startswith(
            f"zoo bench: error: ray, address {cluster.address}: "
        )
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
