"""The effect of each component, averaged over everything it was combined with.

A main effect compares the reference's choice on an axis with another choice on it: the difference
of the metric in each combination of the other axes and each seed, averaged over the combinations.
Every seed gives one such average, so what is known of it is correct however strongly cells of one
seed are correlated. Speeds are combined in the same way as logs, block by block, and memory as a
geometric mean. Verdicts are those of the whole report (``verdicts``).

Where the grid is not full, because one factor was varied at a time or a cell failed, each choice
is compared with the reference alone, with everything else as in the reference: an average over the
cells that happen to exist would compare each choice with different companions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from zoo.config.metric_description import MetricDescription
from zoo.errors import counted
from zoo.report.rows import Row, varying_axes
from zoo.report.stats.paired import Difference
from zoo.report.stats.ratios import PHASES, Ratio, Speeds, memory_verdict
from zoo.report.stats.verdicts import Verdicts
from zoo.report.tables.text import ends, plain, ratio_text

Pair = tuple[Row, Row, float]


@dataclass(frozen=True)
class Effect:
    """The effect of ``component`` compared with ``against``.

    pairs: of cells that it is the average of, with the weight of each pair. difference: of the
    metric. speed: by phase. memory: a ratio of peak memory in training.
    """

    axis: str
    component: str
    against: str
    pairs: tuple[Pair, ...]
    difference: Difference | None = None
    speed: dict[str, Ratio | None] = field(default_factory=dict)
    memory: float | None = None

    @property
    def metric(self) -> MetricDescription:
        """The metric that ranks rows."""
        return self.pairs[0][0].metric

    @property
    def weights(self) -> dict[str, float]:
        """Row name to its weight in the average."""
        weights: dict[str, float] = {}
        for plus, minus, weight in self.pairs:
            weights[plus.name] = weights.get(plus.name, 0.0) + weight
            weights[minus.name] = weights.get(minus.name, 0.0) - weight
        return weights

    def estimated(self, verdicts: Verdicts, speeds: Speeds) -> Effect:
        """The same with difference, speed and memory."""
        peaks = [
            (p.cost.get("peak_memory_mib"), m.cost.get("peak_memory_mib"), w)
            for p, m, w in self.pairs
        ]
        logs = [w * math.log(plus / minus) for plus, minus, w in peaks if plus and minus]
        return replace(
            self,
            difference=verdicts.difference(self.weights),
            speed={phase: speeds.contrast(phase, self.weights) for phase in PHASES},
            memory=math.exp(sum(logs)) if len(logs) == len(peaks) else None,
        )


@dataclass(frozen=True)
class Effects:
    """Main effects in the order of the axes.

    about: a sentence that says what they are averages over. axes: those compared, with their
    choices, the reference's first. averaged: over the full grid; else one factor is varied at a
    time.
    """

    about: str
    axes: dict[str, tuple[str, ...]]
    main: list[Effect]
    averaged: bool

    def estimated(self, verdicts: Verdicts, speeds: Speeds) -> Effects:
        """The same with differences, speeds and memory."""
        return replace(self, main=[effect.estimated(verdicts, speeds) for effect in self.main])


def find_effects(rows: Sequence[Row], reference: str) -> Effects | None:
    """What the rows allow to compare, in the full grid or with one factor at a time; else None.

    A cell that lacks a seed or a cost measurement that others have is missing from the grid.
    """
    cells = [row for row in rows if not row.baseline]
    base = next((row for row in cells if row.name == reference), None)
    axes = varying_axes(cells, reference)
    if base is None or not axes:
        return None  # others may have been measured against it, but its own records are not here
    grid = {tuple(row.cell[axis] for axis in axes): row for row in _complete(cells)}
    if len(grid) < math.prod(map(len, axes.values())):
        return _one_at_a_time(cells, base, axes)

    def pairs(axis: str, component: str, against: str) -> tuple[Pair, ...]:
        """Two choices in every combination of the other axes."""
        free = [[component] if name == axis else axes[name] for name in axes]
        of = [dict(zip(axes, choices, strict=True)) for choices in itertools.product(*free)]
        return tuple(
            (grid[tuple(c.values())], grid[tuple((c | {axis: against}).values())], 1 / len(of))
            for c in of
        )

    main = [
        Effect(axis, first, other, pairs(axis, first, other))
        for axis, (first, *others) in axes.items()
        for other in others
    ]
    shape = " × ".join(f"{len(choices)} {axis}" for axis, choices in axes.items())
    return Effects(f"Averaged over the full grid of {shape}.", axes, main, averaged=True)


def _one_at_a_time(
    cells: Sequence[Row], base: Row, axes: dict[str, tuple[str, ...]]
) -> Effects | None:
    """Each choice with all else as in the reference, of the cells that have all that it has."""
    effects = []
    for row in cells:
        differing = [axis for axis in base.cell if row.cell[axis] != base.cell[axis]]
        if len(differing) == 1 and len(_complete([base, row])) == 2:
            choices = base.cell[differing[0]], row.cell[differing[0]]
            effects.append(Effect(differing[0], *choices, ((base, row, 1.0),)))
    effects.sort(key=lambda effect: list(base.cell).index(effect.axis))
    about = f"With everything else as in the reference, {base.name}."
    return Effects(about, axes, effects, averaged=False) if effects else None


def _complete(cells: Sequence[Row]) -> list[Row]:
    """The cells that have every seed, and a cost measurement, if any of these cells has it."""
    seeds = {seed for row in cells for seed in row.values}
    measured = any(row.measured for row in cells)
    return [row for row in cells if seeds <= row.values.keys() and (row.measured or not measured)]


def sentence(effect: Effect, name: Callable[[object], str] = plain) -> str:
    """One effect: ``rope against sin: +0.4 ± 0.3 points, 0.93 × the speed``.

    name: how a component is written; in Markdown as ``code``.
    """
    names = f"{name(effect.component)} against {name(effect.against)}"
    parts = []
    if difference := effect.difference:
        text = effect.metric.format_difference(difference.mean, difference.half)
        if difference.half is None:
            text += f" ({counted(difference.seeds, 'seed')}: too few seeds for an interval)"
        # An interval by itself without 0 in it would not look like a tie.
        alone = difference.half is not None and abs(difference.mean) > difference.half
        tie = " (equal)" if difference.equal else " (undecided)" if alone else " (tie)"
        parts.append(text if difference.half is None or difference.real else f"{text}{tie}")
    for phase, what in (("train", "the speed"), ("infer", "in inference")):
        if ratio := effect.speed.get(phase):
            known = f" ({text})" if (text := ends(ratio.low, ratio.high)) else ""
            parts.append(f"{ratio_text(ratio.value, ratio.verdict)} × {what}{known}")
    if effect.memory is not None:
        memory = ratio_text(effect.memory, memory_verdict(effect.memory, 1.0))
        parts.append(f"{memory} × the memory")
    return f"{names}: {', '.join(parts)}"
