"""What a training on ``--on ray`` costs more than on ``--on local``, on one machine.

    python -m bench.cluster_overhead --rounds 3 --trainings 10

Both run the same small trainings one at a time, in turns. Counted is the time from the end of the
first training of a run to the end of its last, so that the start of Ray and of the first worker is
left out. Where the machine does other work, compare the fastest rounds. Needs zoo-ray.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.api import run_bench
from zoo.execution.base import Ended, Event
from zoo.registry.loading import load
from zoo.sweep.make_request import make_request
from zoo.sweep.progress import Silent

OPTIONS: dict[str, Any] = {
    "attention": "fused",
    "pe": "rope",
    "baseline": "none",
    "phases": "train",
    "data": "newswire(train=240,test=60)",
    "device": "cpu",
    "threads": 1,
    "jobs": 1,
    "epochs": 3,
    "dim": 32,
    "heads": 2,
    "ffn_dim": 64,
    "layers": 1,
    "max_length": 64,
}
EXECUTORS = ("local", "ray")


class Ends(Silent):
    """Notes when each training ended."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def event(self, event: Event, metrics: object = ()) -> None:
        if isinstance(event, Ended) and event.job.kind == "train":
            self.times.append(time.perf_counter())


def seconds_a_training(on: str, trainings: int) -> float:
    """The time of one training, of so many after the first."""
    zoo, ends = load(), Ends()
    request = make_request({**OPTIONS, "seeds": trainings + 1}, zoo.registry)
    with tempfile.TemporaryDirectory() as out:
        executor = zoo.registry.choose("executor", on)
        outcome = run_bench([request], zoo, ends, name="", on=executor, out=Path(out), fresh=False)
    assert not outcome.failed, outcome.failed[0].reason
    return (ends.times[-1] - ends.times[0]) / trainings


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure in turns, and print seconds, difference and ratio."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster_overhead", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trainings", type=int, default=10, help="counted, of each run")
    given = parser.parse_args(arguments)
    found: dict[str, list[float]] = {on: [] for on in EXECUTORS}
    for number in range(given.rounds):
        for on in EXECUTORS if number % 2 == 0 else reversed(EXECUTORS):
            found[on].append(seconds_a_training(on, given.trainings))
            print(f"round {number + 1}, {on}: {found[on][-1]:.3f} s a training", flush=True)
    ratios = [ray / local for local, ray in zip(*found.values(), strict=True)]
    extra = [ray - local for local, ray in zip(*found.values(), strict=True)]
    print(
        f"ray / local: {statistics.median(ratios):.3f} (from {min(ratios):.3f} to "
        f"{max(ratios):.3f}); {statistics.median(extra):+.3f} s a training"
    )
    local, ray = (min(found[on]) for on in EXECUTORS)
    print(f"the fastest round of each: {ray / local:.3f}; {ray - local:+.3f} s a training")
    return 0


if __name__ == "__main__":
    sys.exit(main())
