"""Ten runs, in each of which a node is killed: what each took, and nothing lost or doubled."""

from __future__ import annotations

import random
import time
from functools import partial
from pathlib import Path

import pytest
from ray_nodes import RayCluster, bench, finished, records, results, wait_for

RUNS = 10

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]


def test_ten_kills_in_ten_runs_lose_and_double_nothing(cluster: RayCluster, tmp_path: Path) -> None:
    options = {"seeds": 2, "epochs": 12}
    finished(bench(tmp_path / "local", cluster.environment, on="local", **options))
    whole = results(tmp_path / "local")
    draw, names = random.Random(0), ["one", "two"]
    rows = []
    for number in range(RUNS):
        out = tmp_path / str(number)
        process = cluster.bench(out, **options)
        victim = draw.choice(names)
        wait_for(partial(cluster.jobs, victim), f"a job on {victim}", process)
        time.sleep(draw.uniform(0.0, 4.0))
        before = len(records(out))
        cluster.kill(victim)
        begun = time.monotonic()
        names.remove(victim)
        names.append(f"{victim.partition('-')[0]}-{number}")
        cluster.add(names[-1])
        err = finished(process)
        rows.append((number, victim, before, err.count("again: "), time.monotonic() - begun))
        assert results(out) == whole, f"run {number}"
    print("run  killed  records before  again  seconds to the end")
    for run, killed, before, again, seconds in rows:
        print(f"{run:3d}  {killed:6}  {before:14d}  {again:5d}  {seconds:18.1f}")
