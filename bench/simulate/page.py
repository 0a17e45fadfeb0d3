"""The page of the simulations, as Markdown, from the lines that they wrote."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.commit import commit_sentence
from bench.publish.markdown import grid
from bench.simulate.grids import HARDNESS, NOISE, SHARED, Scenario
from zoo.measure.turns import BETWEEN, LEAST_BLOCKS, MOST_BLOCKS, NARROW
from zoo.report.stats.ratios import UNDECIDED

LINES = "lines.jsonl"
SIMULATIONS = "simulations"  # their folder among the published results
Line = Mapping[str, Any]

ABOUT = f"""\
# Simulated runs

How verdicts and intervals fare on runs whose true differences are known, made by
`python -m bench.simulate`. Each run is a grid of cells that score 1,000 documents (log odds; the
documents' hardness has a standard deviation of {HARDNESS:g}), with a residual standard deviation of
{100 * NOISE:.2f} points over seeds, and of {100 * SHARED:.1f} points that a seed does to all cells
alike; two cells of 0.94 disagree on some 35 documents. "2 rows × 3": two rows with three times the
noise of the others. The Monte-Carlo error in brackets is one standard error."""

FALSE = """\
## False findings

The share of runs in which any two equal rows are called different: at most 5% is promised. With
fewer than 3 seeds nothing is tested."""

POWER = """\
## Power

One row is less accurate than all others: the share of its pairs that are called different.
*Visible*: what such runs say, in the median, that they would have shown in 4 of 5 cases."""

SEEN = """\
## What a run could have seen

One row is less accurate than all others by the difference that runs of equal rows say, in the
median, that they would have shown in 4 of 5 cases: the share of its pairs that are called
different."""

COVERED = """\
## Intervals of rows

The share of rows whose 95% interval holds the accuracy that training with all possible seeds would
give on these documents."""

BLOCKS = f"""\
## Speeds

Models have their turns in {LEAST_BLOCKS} to {MOST_BLOCKS} blocks of two processes, until all ratios
to the reference are known within {NARROW:.0%}. *Covered*: the share of 95% intervals that hold
the true ratio. *Told apart*: the interval does not contain 1, and the ratio is more than
{UNDECIDED:.0%} away from it; of equal models at most 5% is promised. *Noise*: standard deviation
of a block's log ratio, a quarter of whose square comes from the 5% of turns in which something
disturbs a model. All log ratios of a process are off by a standard deviation of {BETWEEN:.0%}."""


def page(file: Path) -> str:
    """The whole page."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    parts = [ABOUT]
    tables: tuple[tuple[str, str, Callable[[Line], dict[str, str]]], ...] = (
        ("false", FALSE, lambda line: {"false": _rate(line["false"], line["runs"])}),
        ("power", POWER, lambda line: {"gap, points": f"{line['scenario']['gap']:g}"}
         | {"found": f"{line['power']:.1%}", "visible, points": _visible(line["visible"])}),
        ("seen", SEEN, lambda line: {"gap, points": f"{line['scenario']['gap']:.1f}"}
         | {"found": f"{line['power']:.1%}"}),
        ("covered", COVERED, lambda line: {"accuracy": f"{line['scenario']['accuracy']:g}"}
         | {"covered": f"{line['covered']:.1%}"}),
    )  # fmt: skip
    for shows, text, columns in tables:
        rows = [_scenario(line) | columns(line) for line in lines if line["shows"] == shows]
        parts += [text, grid(rows)] if rows else []
    if rows := [_blocks(line) for line in lines if line["shows"] == "blocks"]:
        parts += [BLOCKS, grid(rows)]
    parts.append(commit_sentence(line.get("commit", "") for line in lines))
    return "\n\n".join(parts) + "\n"


def _blocks(line: Line) -> dict[str, str]:
    return {
        "models besides the reference": str(line["models"]),
        "true ratio": f"{line['ratio']:g}",
        "noise": f"{line['noise']:.1%}",
        "covered": _rate(line["covered"], line["ratios"]),
        "told apart": _rate(line["told"], line["ratios"]),
        "mean blocks": f"{line['blocks']:.1f}",
    }


def _scenario(line: Line) -> dict[str, str]:
    scenario = Scenario(**line["scenario"])
    noise = scenario.noise
    if line["shows"] == "false":
        if scenario.accuracy != Scenario(2, 3).accuracy:
            noise += f", accuracy {scenario.accuracy:g}"
        if not scenario.shared:
            noise += ", seeds not shared"
    return {"cells": str(scenario.cells), "seeds": str(scenario.seeds), "noise": noise}


def _visible(points: float | None) -> str:
    return "" if points is None else f"{points:.1f}"


def _rate(share: float, runs: int) -> str:
    """``4.3% (±1.0)``."""
    return f"{share:.1%} (±{100 * math.sqrt(share * (1 - share) / runs):.1f})"
