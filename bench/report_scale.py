"""How long reports of large grids take, and how much memory they need.

    python -m bench.report_scale [--cells 100,1000,4000] [--out DIRECTORY]

Two real records, of a training and of a cost, are made by a small run. They are multiplied: other
cells and seeds, and other wrong examples, curves and speeds from a fixed seed. Then ``zoo report``
and ``zoo compare`` read these records, each in a process of its own. A line is written after each;
started again, the program goes on from there. Prints the table, which is also in ``README.md``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.commit import code_commit, commit_sentence
from bench.publish.markdown import grid
from zoo.report.tables.notes import machine_summary
from zoo.report.write import PAGE, write_file
from zoo.sweep.complete import read_run
from zoo.sweep.keys import digest
from zoo.sweep.records import FILE, Record

LINES = "lines.jsonl"
REPORTS = "reports"  # their folder among the published results
SEED, SEEDS = 33, 5
# Choices on each axis, by the number of cells.
SHAPES = {
    100: {"attention": 5, "pe": 5, "norm": 4},
    400: {"attention": 10, "pe": 10, "norm": 4},
    1000: {"attention": 10, "pe": 10, "norm": 10},
    4000: {"attention": 10, "pe": 10, "norm": 10, "ffn": 4},
}
OPTIONS = (
    "--attention fused --pe rope --baseline none --seeds 1 --epochs 6 "
    "--set dim=16,heads=2,layers=1 --max-length 64 --device cpu --threads 1 --on inline --quiet"
)
DATA = "newswire(train=240,test=1000)"
ABOUT = f"""\
# Reports of large grids

Seconds and peak memory of whole processes, made by `python -m bench.report_scale`: records of a
small run, multiplied with other cells, seeds, wrong examples and speeds; {SEEDS} seeds each, scored
on 1,000 texts."""


def templates() -> tuple[Record, Record]:
    """The records of one training and of one cost measurement, which are made now."""
    # In a process of its own: what this one holds would count as theirs when processes are started.
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "zoo", "bench", *OPTIONS.split(), "--data", DATA]
        subprocess.run([*command, "--out", out], check=True, stdout=subprocess.DEVNULL)
        records = read_run(Path(out))
    trained, cost = (next(r for r in records if r.kind == kind) for kind in ("train", "cost"))
    return trained, cost


def multiplied(
    trained: Record, cost: Record | None, shape: dict[str, int], seeds: int = SEEDS
) -> Iterator[Record]:
    """Records of a grid with so many choices on each axis, made from these two.

    Cells differ by up to some points, and every training by half a point. cost: None for a run
    without cost measurements.
    """
    draw = np.random.default_rng(SEED)
    examples, confusion = trained.metrics["examples"], np.array(trained.metrics["confusion"])
    truth = np.repeat(np.arange(len(confusion)), confusion.sum(axis=1))
    hardness = draw.normal(0, 3, examples)
    levels = {axis: np.sort(draw.normal(0, 0.3, count))[::-1] for axis, count in shape.items()}
    reference = ""
    for choices in itertools.product(*(range(count) for count in shape.values())):
        chosen = dict(zip(shape, choices, strict=True))
        cell = {a: f"{old}{chosen.get(a) or ''}" for a, old in trained.cell.items()}
        reference = reference or "+".join(cell.values())
        skill = 3.5 + sum(float(levels[axis][place]) for axis, place in chosen.items())
        for seed in range(seeds):
            odds = skill + draw.normal(0, 0.1) - hardness
            wrong = np.flatnonzero(draw.random(examples) >= 1 / (1 + np.exp(-odds)))
            shifts = draw.integers(1, len(confusion), len(wrong))
            predicted = truth.copy()
            predicted[wrong] = (truth[wrong] + shifts) % len(confusion)
            matrix = np.zeros_like(confusion)
            np.add.at(matrix, (truth, predicted), 1)
            right = 1 - len(wrong) / examples
            errors = [[int(i), int(truth[i]), int(predicted[i])] for i in wrong]
            metrics = trained.metrics | {"accuracy": right, "macro_f1": right}
            metrics |= {"confusion": matrix.tolist(), "errors": errors}
            curve = [step | {"loss": step["loss"] * draw.uniform(0.9, 1)} for step in trained.curve]
            key = digest(["train", cell, seed])
            parts = {"cell": cell, "seed": seed, "key": key, "metrics": metrics, "curve": curve}
            yield trained.model_copy(update=parts)
        if cost is not None:
            factor = draw.uniform(0.5, 2)
            turns = {
                phase: {
                    clock: [[t * factor * draw.uniform(0.98, 1.02) for t in one] for one in of]
                    for clock, of in clocks.items()
                }
                for phase, clocks in cost.samples["turns"].items()
            }
            own = cost.samples["reference"] | {"name": reference}
            metrics = {
                name: value / factor if name.endswith("per_s") else value
                for name, value in cost.metrics.items()
            } | {"peak_memory_mib": cost.metrics["peak_memory_mib"] * draw.uniform(0.7, 1.5)}
            samples = cost.samples | {"turns": turns, "reference": own}
            parts = {"cell": cell, "key": digest(["cost", cell])}
            yield cost.model_copy(update=parts | {"metrics": metrics, "samples": samples})


def write_run(directory: Path, records: Iterator[Record]) -> int:
    """Write a run's records without waiting for the disk after each; their number is returned."""
    directory.mkdir(parents=True)
    lines = (json.dumps(record.model_dump(), ensure_ascii=False) + "\n" for record in records)
    with (directory / FILE).open("w", encoding="utf-8") as file:
        return sum(bool(file.write(line)) for line in lines)


def measured(arguments: Sequence[str]) -> dict[str, float]:
    """Seconds and peak memory of ``zoo`` with these arguments, in a process of its own."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "zoo", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"zoo {' '.join(arguments)} ended with {status}")
    return {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mib": round(usage.ru_maxrss / 1024),
    }


def page(file: Path) -> str:
    """The table of these lines as Markdown."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    rows = [
        {
            "command": line["command"],
            "cells": f"{line['cells']:,}",
            "records": f"{line['records']:,}",
            "costs measured": "yes" if line["costs"] else "no",
            "seconds": f"{line['seconds']:.0f}",
            "of the processor": f"{line['cpu_seconds']:.0f}",
            "peak memory MiB": f"{line['peak_mib']:,}",
            "page MB": f"{line['page_mb']:.1f}" if "page_mb" in line else "",
        }
        for line in sorted(lines, key=lambda line: (line["command"], line["cells"], line["costs"]))
    ]
    machines = ", ".join(dict.fromkeys(line["machine"] for line in lines))
    commit = commit_sentence(line["commit"] for line in lines)
    return "\n\n".join([ABOUT, grid(rows), f"Machine: {machines}. {commit}"]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is not measured yet, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.report_scale", description=__doc__)
    parser.add_argument("--cells", default=",".join(map(str, SHAPES)), help=f"of {[*SHAPES]}")
    parser.add_argument("--out", type=Path, default=Path("results") / REPORTS)
    given = parser.parse_args(arguments)
    file = given.out / LINES
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    there = {(line["cells"], line["costs"], line["command"]) for line in lines}
    sizes = [(int(cells), costs) for cells in given.cells.split(",") for costs in (False, True)]
    wanted = [(*size, name) for size in sizes for name in ("report", "compare")]
    made = templates() if set(wanted) - there else None
    for cells, costs in sizes:
        if made is None or all((cells, costs, name) in there for name in ("report", "compare")):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            run_of = Path(scratch) / "run"
            shape = SHAPES[cells]
            count = write_run(run_of, multiplied(made[0], made[1] if costs else None, shape))
            for name in ("report", "compare"):
                if (cells, costs, name) in there:
                    continue
                line: dict[str, Any] = {"command": name, "cells": cells, "records": count}
                line |= {
                    "costs": costs,
                    "machine": machine_summary(made[0].environment),
                    "commit": code_commit(),
                }
                line |= measured([name, str(run_of)] + [str(run_of)] * (name == "compare"))
                if name == "report":
                    line["page_mb"] = round((run_of / PAGE).stat().st_size / 1e6, 2)
                lines.append(line)
                given.out.mkdir(parents=True, exist_ok=True)
                write_file(file, "".join(f"{json.dumps(line)}\n" for line in lines))
                print(json.dumps(line), flush=True)
    write_file(given.out / "README.md", page(file))
    print(page(file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
