"""The time of the README's first command, as a ratio to the sum of its training steps.

    python -m bench.first_command [--data DATA] [--out DIRECTORY] [more options of zoo bench]

Runs ``zoo bench --attention fused,naive --pe rope,sin`` with a new directory of records and prints
its wall time, that time over the seconds of all steps of its trainings (``train_seconds`` of the
records), and what each phase took. Trainings that run at the same time count with the seconds of
each, so that the ratio may be below 1. Run it twice, for the first run may have to encode the
data, and on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.peers.startup import with_checkout
from zoo.errors import ZooError
from zoo.sweep.records import Record, RecordFile

COMMAND = "bench --attention fused,naive --pe rope,sin".split()


@dataclass(frozen=True)
class Timed:
    """steps: seconds of all training steps. phases: seconds of each; together they are the whole.

    start: until the first training begins. train: until the last record of a training. cost: until
    the last record of a cost. end: until the command ends.
    """

    steps: float
    phases: Mapping[str, float]

    @property
    def whole(self) -> float:
        """Wall time in seconds."""
        return sum(self.phases.values())

    @property
    def ratio(self) -> float:
        """The wall time over that of the steps."""
        return self.whole / self.steps


def timed(records: Sequence[Record], start: float, end: float) -> Timed:
    """How a command spent its time. start, end: seconds since 1970.

    Records are dated to the second when they are written, so a phase may be off by one. Raises
    ZooError where no training ended well.
    """
    trained = [r for r in records if r.kind == "train" and r.status == "ok"]
    if not trained:
        raise ZooError("no training ended well: there is nothing to compare the time with")
    written = {kind: [_written(r) for r in records if r.kind == kind] for kind in ("train", "cost")}
    first = min(_written(r) - r.metrics["seconds"] for r in trained)
    limits = [start, first, max(written["train"]), max(written["cost"], default=0.0), end]
    for place in range(1, len(limits)):
        limits[place] = min(max(limits[place], limits[place - 1]), end)
    names = ("start", "train", "cost", "end")
    return Timed(
        steps=sum(r.metrics["train_seconds"] for r in trained),
        phases={name: limits[i + 1] - limits[i] for i, name in enumerate(names)},
    )


def table(found: Timed) -> str:
    """The whole and its phases, for people."""
    steps = f"the {found.steps:.0f} s of its training steps"
    lines = [f"{found.whole:.0f} s: {found.ratio:.2f} times {steps}"]
    for name, seconds in found.phases.items():
        lines.append(f"  {name:<5}  {seconds:6.1f} s  {seconds / found.whole:4.0%}")
    return "\n".join(lines)


def run(words: Sequence[str], out: Path) -> Timed:
    """Run the command with these options as well; its output is shown."""
    start = time.time()
    command = [sys.executable, "-m", "zoo", *COMMAND, *words, "--out", str(out)]
    status = subprocess.run(command, env=with_checkout(), check=False).returncode
    end = time.time()
    if status:
        raise ZooError(f"zoo bench ended with status {status}")
    return timed(RecordFile(out).read(), start, end)


def _written(record: Record) -> float:
    return datetime.datetime.fromisoformat(record.started).timestamp()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.first_command",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, help="where to keep the run; by default nowhere")
    options, words = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(table(run(words, options.out or Path(scratch) / "run")))


if __name__ == "__main__":
    main()
