"""Trainings one at a time with all cores, against as many at once as cores, with a thread each.

    python -m bench.jobs_at_once [--rounds 5] [--trainings 4] [--data DATA]

Both run the same trainings of the default model, in turns. Prints the seconds of each round, and
the time of one at a time divided by that of all at once: the geometric mean over rounds with its
95% t-interval. Above 1.1 the default of ``zoo bench`` on a CPU, several at once, is the right one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.turns import interval
from zoo.errors import ZooError
from zoo.execution.cores import own_cores
from zoo.registry.loading import load
from zoo.sweep.make_request import make_request
from zoo.sweep.progress import Silent
from zoo.sweep.run import run

OPTIONS: dict[str, Any] = {"baseline": "none", "phases": "train", "device": "cpu"}


def seconds(options: dict[str, Any]) -> float:
    """The time of a run's trainings, from the start of the run to its last record."""
    zoo = load()
    request = make_request({**OPTIONS, **options}, zoo.registry)
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        outcome = run(request, zoo, Silent(), out=Path(directory) / "run")
        whole = time.perf_counter() - start
    if outcome.failed:
        raise ZooError(f"a training failed: {outcome.failed[0].reason}")
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.jobs_at_once",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trainings", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--data", help="as for zoo bench")
    given = parser.parse_args()
    shared = {"seeds": given.trainings, "epochs": given.epochs, "data": given.data}
    cores = own_cores()
    ways = {"one at a time": (1, cores), "at once": (cores, 1)}
    times: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(given.rounds):
        for way in list(ways)[:: 1 if number % 2 else -1]:
            jobs, threads = ways[way]
            times[way].append(seconds({**shared, "jobs": jobs, "threads": threads}))
            print(f"round {number + 1}, {way}: {times[way][-1]:.1f} s", flush=True)
    one, several = (np.array(found) for found in times.values())
    found = interval(one / several)
    ends = "" if found.low is None else f" ({found.low:.2f} to {found.high:.2f})"
    print(
        f"{given.trainings} trainings on {cores} cores: one at a time took {found.ratio:.2f} times "
        f"as long as {cores} at once{ends}"
    )


if __name__ == "__main__":
    main()
