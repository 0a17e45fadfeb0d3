"""Simulate runs with known differences, and write how verdicts and intervals fare.

    python -m bench.simulate [--runs N] [--out DIRECTORY] [PART ...]

Writes ``lines.jsonl`` of grids, ``exchanges.jsonl`` and, made from them, ``README.md``; takes a few
minutes and half an hour on one core. Exchanges that are there are not made again.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bench.commit import code_commit
from bench.simulate.blocks import lines_of_blocks
from bench.simulate.exchanges import lines_of_exchanges
from bench.simulate.grids import Scenario
from bench.simulate.outcomes import simulate
from bench.simulate.page import EXCHANGES_FILE, LINES, SIMULATIONS, page
from zoo.report.write import write_file

SEED = 14


def scenarios() -> dict[str, list[Scenario]]:
    """By what they show."""
    return {
        "false": [
            Scenario(cells, seeds, noisy=noisy)
            for cells in (2, 4, 8, 16, 40)
            for seeds in (1, 2, 3, 5, 10)
            for noisy in (0, 1 if cells < 8 else 2)
            if not (seeds < 3 and (noisy or cells != 16))
        ]
        + [Scenario(16, 5, noisy=2, times=5.0), Scenario(8, 5, equal=3)]
        + [Scenario(16, 5, shared=0.0), Scenario(8, 5, accuracy=0.999)],
        "power": [
            Scenario(cells, seeds, gap=gap)
            for cells in (2, 16, 40)
            for seeds in (3, 5, 10)
            for gap in (1.0, 2.0, 3.0)
        ],
        "covered": [
            Scenario(8, seeds, accuracy=accuracy, noisy=noisy)
            for accuracy in (0.8, 0.94, 0.99, 0.999, 0.9999)
            for seeds in (3, 5, 10)
            for noisy in ((0, 2) if accuracy == 0.94 else (0,))
        ],
    }


def lines(runs: int) -> Iterator[dict[str, Any]]:
    """One result a line."""
    streams = (np.random.default_rng([SEED, number]) for number in itertools.count())
    for shows, of in scenarios().items():
        for scenario in of:
            # Small grids cost little.
            times = 5 if shows == "false" and scenario.cells < 8 else 1
            yield {"shows": shows} | asdict(simulate(scenario, times * runs, next(streams)))
    for cells, seeds in itertools.product((2, 6, 16, 40), (3, 5)):
        gap = simulate(Scenario(cells, seeds), runs, next(streams)).visible
        outcome = simulate(Scenario(cells, seeds, gap=gap or 0.0), runs, next(streams))
        yield {"shows": "seen"} | asdict(outcome)
    yield from lines_of_blocks(runs, SEED)


# Of each part the file, and how many runs of each scenario there are by default.
PARTS = {"grids": (LINES, 400), "exchanges": (EXCHANGES_FILE, 2000)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.simulate", description=__doc__)
    parser.add_argument("parts", nargs="*", default=[*PARTS], metavar="PART", choices=[*PARTS])
    parser.add_argument("--runs", type=int, help="simulated runs of each scenario")
    parser.add_argument("--out", type=Path, default=Path("results") / SIMULATIONS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for part in options.parts:
        file, runs = options.out / PARTS[part][0], options.runs or PARTS[part][1]
        there = file.read_text("utf-8").splitlines() if file.exists() else []
        known = [json.loads(text) for text in there]
        texts = list[str]()
        for line in lines(runs) if part == "grids" else lines_of_exchanges(runs, SEED, known):
            texts.append(json.dumps({"commit": code_commit()} | line))
            print(texts[-1], flush=True)
            if part == "exchanges":  # what an interruption leaves is gone on with
                write_file(file, "\n".join(texts) + "\n")
        write_file(file, "\n".join(texts) + "\n")
    write_file(options.out / "README.md", page(options.out / LINES))


if __name__ == "__main__":
    main()
