"""The effect of each component, averaged over everything it was combined with.

A main effect compares the reference's choice on an axis with another one: the difference of the
metric in each combination of the other axes and each seed, averaged over the combinations. Every
seed gives one such average, however strongly cells of one seed are correlated. Speeds are combined
in the same way as logs, block by block, and memory as a geometric mean.

Where the grid is not full, each choice is compared with the reference alone, with everything else
as in the reference: an average over the cells that happen to exist would compare each choice with
different companions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from zoo.config.metric_description import MetricDescription
from zoo.report.rows import ReportRow, varying_axes
from zoo.report.stats.paired import Difference
from zoo.report.stats.ratios import Ratio
from zoo.report.tables.text import ends, plain, ratio_text

# Memory is measured once, so there is no interval: only how much a row differed when it was
# measured again with the same settings on one machine. A cell had 284.2 and 273.5 MiB (a ratio of
# 1.039); the same fit of tfidf-logreg(whole=True) has 62.0 to 67.2 MiB in six published runs (a
# ratio of 1.084).
MEMORY_TIE = 0.1


@dataclass(frozen=True)
class Effect:
    """The effect of ``component`` compared with ``against``.

    weights: row name to its weight in the average. metric: the one that ranks rows; difference: of
    it. speed: by phase. memory: a ratio of peak memory in training.
    """

    axis: str
    component: str
    against: str
    weights: dict[str, float]
    metric: MetricDescription
    difference: Difference | None = None
    speed: dict[str, Ratio | None] = field(default_factory=dict)
    memory: float | None = None


@dataclass(frozen=True)
class Effects:
    """Main effects in the order of the axes.

    about: a sentence that says what they are averages over. averaged: over the full grid; else one
    factor is varied at a time.
    """

    about: str
    main: list[Effect]
    averaged: bool


def find_effects(rows: Sequence[ReportRow], reference: str) -> Effects | None:
    """What the rows allow to compare, in the full grid or with one factor at a time; else None.

    A cell that lacks a seed or a cost measurement that others have is missing from the grid.
    """
    cells = [row for row in rows if not row.baseline]
    base = next((row for row in cells if row.name == reference), None)
    axes = varying_axes(cells, reference)
    if base is None or not axes:
        return None  # others may have been measured against it, but its own records are not here
    complete = _complete(cells)
    averaged = len(complete) == math.prod(map(len, axes.values()))
    main = []
    for axis, (first, *others) in axes.items():
        for other in others:
            twins = [row for row in cells if row.cell == {**base.cell, axis: other}]
            compared = complete if averaged else _complete([base, *twins])
            signs = {first: 2.0, other: -2.0}
            of = [row for row in compared if row.cell[axis] in signs]
            weights = {row.name: signs[row.cell[axis]] / len(of) for row in of}
            if len(of) > 1:
                main.append(Effect(axis, first, other, weights, base.metric))
    shape = " × ".join(f"{len(choices)} {axis}" for axis, choices in axes.items())
    about = f"Averaged over the full grid of {shape}."
    about = about if averaged else f"With everything else as in the reference, {base.name}."
    return Effects(about, main, averaged) if main else None


def _complete(cells: Sequence[ReportRow]) -> list[ReportRow]:
    """The cells that have every seed, and a cost measurement, if any of these cells has it."""
    seeds = {seed for row in cells for seed in row.values}
    measured = any(row.measured for row in cells)
    return [row for row in cells if seeds <= row.values.keys() and (row.measured or not measured)]


def sentence(effect: Effect, name: Callable[[object], str] = plain) -> str:
    """One effect: ``rope against sin: +0.4 ± 0.3 points, 0.93 × the speed``.

    name: how a component is written; in Markdown as ``code``.
    """
    parts = []
    if difference := effect.difference:
        text = effect.metric.format_difference(difference.mean, difference.half)
        # An interval by itself without 0 in it would not look like a tie.
        alone = difference.half is not None and abs(difference.mean) > difference.half
        tie = "equal" if difference.equal else "undecided" if alone else "tie"
        tie = "too few seeds for an interval" if difference.half is None else tie
        parts.append(text if difference.real else f"{text} ({tie})")
    for phase, what in (("train", "the speed"), ("infer", "in inference")):
        if ratio := effect.speed.get(phase):
            known = f" ({text})" if (text := ends(ratio.low, ratio.high)) else ""
            parts.append(f"{ratio_text(ratio.value, ratio.verdict)} × {what}{known}")
    if effect.memory is not None:
        apart = abs(math.log(effect.memory)) > math.log1p(MEMORY_TIE)
        parts.append(f"{ratio_text(effect.memory, apart)} × the memory")
    return f"{name(effect.component)} against {name(effect.against)}: {', '.join(parts)}"
