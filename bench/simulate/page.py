"""The page of the simulations, as Markdown, from the lines that they wrote."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.commit import commit_sentence
from bench.publish.markdown import grid
from bench.simulate.exchanges import BUDGET, MEDIAN, OWN, RATES
from bench.simulate.exchanges import SHARED as OF_SEED
from bench.simulate.grids import HARDNESS, NOISE, SHARED, Scenario
from zoo.measure.turns import BETWEEN, LEAST_BLOCKS, MOST_BLOCKS, NARROW
from zoo.report.stats.learning import STAGES
from zoo.report.stats.ratios import UNDECIDED

LINES, EXCHANGES_FILE = "lines.jsonl", "exchanges.jsonl"
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


EXCHANGES = f"""\
## What rows learn

Two rows train on a streamed diagnostic at {len(RATES)} rates with each seed. A run solves it with a
probability of the row and the rate, after some {MEDIAN:,} examples (the log has a standard
deviation of {OWN:g} over runs and of {OF_SEED:g} over seeds), and is censored at {BUDGET:,}
otherwise. The share of runs in which the exchange test (`zoo.report.stats.learning`) tells the two
apart at 5%, with so many seeds. Of rows that are alike at every rate at most 5% is promised. Rows
that are alike at their best rates alone are not alike: the one that learns at more rates has more
chances to be fast, and where the others learn nothing this is found more often than 5%. So what is
found says that a row learns faster over these rates, not at its best one alone."""

STAGED = f"""\
## What claims find

A claim is tested with {STAGES[0][0]} seeds at {STAGES[0][1]:.0%}, and one that is undecided then
with {STAGES[1][0]} at {STAGES[1][1]:.0%}. The table says how often it is decided in the end, and
with how many seeds in the mean; of rows that are alike each decision is a mistake. Testing twice at
5% would be wrong in some 8% of cases. These are predictions that compare examples (`faster`); what
is known of the others is in `docs/claims.md`."""

OF_RATIOS = """\
## Intervals of ratios

The share of 95% intervals that hold the true ratio of examples until solved."""
LEARNED = {"exchange": EXCHANGES, "stages": STAGED, "intervals": OF_RATIOS}
ALIKE = {
    "alike": "alike at every rate",
    "window": "alike at their best rates alone",
    "different": "different",
}


def page(file: Path) -> str:
    """The whole page, of these lines and those of exchanges beside them."""
    files = [known for known in (file, file.with_name(EXCHANGES_FILE)) if known.exists()]
    lines = [json.loads(line) for known in files for line in known.read_text().splitlines()]
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
    of = {shows: [line for line in lines if line["shows"] == shows] for shows in LEARNED}
    parts += [
        f"{text}\n\n{grid(_learned(of[shows]))}" for shows, text in LEARNED.items() if of[shows]
    ]
    parts.append(commit_sentence(line.get("commit", "") for line in lines))
    return "\n\n".join(parts) + "\n"


def _learned(lines: Sequence[Line]) -> list[dict[str, str]]:
    """A row for each truth, with a column for each number of seeds."""
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        row = rows.setdefault(line["truth"], {"the two rows": ALIKE[line["kind"]]})
        row["truth"] = line["truth"]
        share = line.get("found", line.get("covered"))
        row[f"{line['seeds']} seeds"] = _rate(share, line["runs"])
        if "mean_seeds" in line:
            row["mean seeds"] = f"{line['mean_seeds']:.1f}"
    return list(rows.values())


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
