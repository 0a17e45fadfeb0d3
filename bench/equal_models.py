"""A model timed against itself: how far apart the costs of equal models are said to be.

    python -m bench.equal_models [--busy] [--jobs N] [--out DIRECTORY]

Each job measures one cell and copies of it, and ``naive`` beside ``fused``, as ``zoo bench`` does.
--busy: other work has every core meanwhile. A line is written after each job, and the program goes
on where it was stopped. ``README.md`` has the table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from bench.commit import code_commit, commit_sentence
from bench.publish.markdown import grid
from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.execution.base import CostJob, CostMember, Ended, JobSetup, Limits, ModelSpec
from zoo.execution.local import InlineExecutor
from zoo.execution.machine import own_cores
from zoo.measure.turns import CONTENDED, PHASES, contention, log_ratios
from zoo.report.stats.ratios import Ratio, Session, combined
from zoo.report.tables.notes import machine_summary
from zoo.report.write import write_file

LINES = "lines.jsonl"
COSTS = "costs"  # their folder among the published results
COPIES = 3  # of the reference, in a job
SIZES = Sizes(dim=128, layers=2, heads=4, ffn_dim=512, max_length=256, vocab_size=4000)
BATCH = 16
PLAIN = {"pe": "rope", "norm": "layer", "ffn": "gelu", "block": "pre", "pool": "mean"}
ABOUT = f"""\
# A model against itself

Made by `python -m bench.equal_models`: {SIZES.layers} layers, {SIZES.dim} wide,
{SIZES.max_length} tokens, batches of {BATCH}, one thread. Each job measures `fused`,
{COPIES} copies of it, and `naive`, as `zoo bench` measures costs. *Spread*: the standard deviation
of the logs of a copy's ratios. *Half-width*: of the 95% interval, the median. *Told apart*: copies
that are called faster or slower, of which at most 5% are promised. *naive*: its speed over that of
`fused`, the median and the range over jobs. *CPU s a model*: of all processes, with starting them
and measuring memory. *Busy*: a process that multiplies matrices for every core, beside the job."""


def job() -> CostJob:
    """The reference, its copies, and ``naive``."""
    models = [ModelSpec({"attention": name, **PLAIN}) for name in ("fused", "naive")]
    setup = JobSetup(
        task="classify",
        task_options={},
        sizes=SIZES,
        training=Training(batch_size=BATCH),
        execution=Execution(device="cpu", precision="fp32"),
    )
    members = [CostMember(models[0], full_length=BATCH) for _ in range(1 + COPIES)]
    members.append(CostMember(models[1], full_length=BATCH))
    return CostJob(setup, "equal models", "equal", members=tuple(members), matrix_rate=False)


def measured() -> dict[str, Any]:
    """One job: ratios of training and inference with their intervals, and what they took."""
    before, start = _cpu_seconds(), time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        *_, ended = InlineExecutor().run([job()], limits=Limits(), directory=directory)
    assert isinstance(ended, Ended)
    members = ended.result.members
    if failed := [one for one in members if one.status != "ok"]:
        raise SystemExit(f"{failed[0].status}: {failed[0].reason}")
    reference, *others = (member.samples for member in members)
    contended = contention(reference)
    return {
        "ratios": [
            [
                vars(combined([Session(log_ratios(one, reference, phase))], contended > CONTENDED))
                for phase in PHASES
            ]
            for one in others
        ],
        "blocks": sum(map(len, reference["turns"]["train"]["cpu"])),
        "contention": round(contended, 2),
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round((_cpu_seconds() - before) / len(members), 2),
        "machine": machine_summary(ended.result.environment),
        "commit": code_commit(),
    }


def _cpu_seconds() -> float:
    """Of the processes that this one has started, and of those that they waited for."""
    times = [process.cpu_times() for process in psutil.Process().children()]
    return math.fsum(t.user + t.system + t.children_user + t.children_system for t in times)


@contextlib.contextmanager
def other_work() -> Iterator[None]:
    """A process that multiplies matrices, for every core."""
    code = "import numpy as np\na = np.ones((500, 500))\nwhile True: a @ a"
    cores = range(own_cores())
    workers = [subprocess.Popen([sys.executable, "-c", code]) for _ in cores]
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()


def page(file: Path) -> str:
    """The table of these lines as Markdown."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    rows = [
        _row("busy" if busy else "quiet", [line for line in lines if line["busy"] == busy], place)
        for busy in sorted({line["busy"] for line in lines})
        for place in range(len(PHASES))
    ]
    machines = ", ".join(dict.fromkeys(line["machine"] for line in lines))
    commit = commit_sentence(line["commit"] for line in lines)
    return "\n\n".join([ABOUT, grid(rows), f"Machine: {machines}. {commit}"]) + "\n"


def _row(machine: str, lines: Sequence[dict[str, Any]], place: int) -> dict[str, str]:
    copies = [Ratio(**one[place]) for line in lines for one in line["ratios"][:COPIES]]
    naive = sorted(line["ratios"][-1][place]["value"] for line in lines)
    halves = [math.log(one.high / one.low) / 2 for one in copies if one.high and one.low]
    covered = sum(bool(one.low and one.high and one.low <= 1 <= one.high) for one in copies)
    spread = math.sqrt(statistics.fmean(math.log(one.value) ** 2 for one in copies))
    return {
        "machine": machine,
        "phase": ("training", "inference")[place],
        "copies": f"{len(copies)}",
        "spread": f"{spread:.1%}",
        "half-width": f"{statistics.median(halves):.1%}",
        "interval holds 1": f"{covered / len(copies):.1%}",
        "told apart": f"{sum(one.verdict != 0 for one in copies) / len(copies):.1%}",
        "naive": f"{statistics.median(naive):.2f} ({naive[0]:.2f} to {naive[-1]:.2f})",
        "blocks": f"{statistics.median(line['blocks'] for line in lines):g}",
        "wall over CPU": f"{statistics.median(line['contention'] for line in lines):.2f}",
        "CPU s a model": f"{statistics.median(line['cpu_seconds'] for line in lines):.1f}",
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as many jobs as are wanted and not there, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.equal_models", description=__doc__)
    parser.add_argument("--busy", action="store_true", help="other work has every core")
    parser.add_argument("--jobs", type=int, default=67, help=f"of {COPIES} copies each")
    parser.add_argument("--out", type=Path, default=Path("results") / COSTS)
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / LINES
    text = file.read_text() if file.exists() else ""
    there = [json.loads(line) for line in text.splitlines()]
    left = given.jobs - sum(line["busy"] == given.busy for line in there)
    with other_work() if given.busy else contextlib.nullcontext():
        for _ in range(left):
            text += json.dumps({"busy": given.busy, **measured()}) + "\n"
            write_file(file, text)
    write_file(given.out / "README.md", page(file))
    print(page(file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
