"""The effect of each component, averaged over everything it was combined with.

A main effect compares the reference's choice on an axis with another choice on it: the difference
of the metric in each combination of the other axes and each seed, averaged over the combinations.
Every seed gives one such average, so what is known of it is correct however strongly cells of one
seed are correlated. Speeds are combined in the same way as logs, round by round, and memory as a
geometric mean. Verdicts are those of the whole report (``verdicts``).

An interaction is a difference of such differences: how much larger the effect is with one choice
on another axis than with another choice. Interactions of three axes are not computed.

Where the grid is not full, because one factor was varied at a time or a cell failed, each choice
is compared with the reference alone, with everything else as in the reference.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError, nearest
from zoo.report.rows import Row, axes_of, varying_axes
from zoo.report.stats.paired import Difference
from zoo.report.stats.ratios import PHASES, Ratio, Speeds
from zoo.report.stats.verdicts import Verdicts

SHOWN = 8  # missing cells that an error names
Levels = dict[str, tuple[str, ...]]  # axis to its choices, the reference's first


@dataclass(frozen=True)
class Effect:
    """The effect of ``component`` compared with ``against``.

    In an interaction ``other`` and ``other_against`` are two choices on another axis, and the
    numbers say how much larger the effect is with the first than with the second.
    pairs: of cells that it is the average of, with the weight of each pair. difference: of the
    metric. speed: by phase. memory: a ratio of peak memory in training.
    """

    axis: str
    component: str
    against: str
    pairs: tuple[tuple[Row, Row, float], ...]
    other_axis: str = ""
    other: str = ""
    other_against: str = ""
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

    def of(self, component: str) -> Effect | None:
        """The effect with this component first; None where it is not of that component.

        An interaction is the same number when its two axes change places.
        """
        effect = self
        if self.other and component in (self.other, self.other_against):
            effect = replace(
                self,
                axis=self.other_axis,
                component=self.other,
                against=self.other_against,
                other_axis=self.axis,
                other=self.component,
                other_against=self.against,
            )
        if component == effect.component:
            return effect
        if component != effect.against:
            return None
        pairs = tuple((minus, plus, weight) for plus, minus, weight in self.pairs)
        return replace(effect, component=component, against=effect.component, pairs=pairs)


@dataclass(frozen=True)
class Effects:
    """Main effects in the order of the axes; interactions in that of the grid.

    about: a sentence that says what the main effects are averages over. axes: those compared, with
    their choices. seeds: those of the full grid; none where one factor was varied at a time.
    """

    about: str
    axes: Levels
    main: list[Effect]
    interactions: list[Effect] = field(default_factory=list)
    seeds: tuple[int, ...] = ()

    @property
    def weights(self) -> list[list[dict[str, float]]]:
        """Weights of rows: of the main effects, and of the interactions."""
        return [[effect.weights for effect in of] for of in (self.main, self.interactions)]

    def of(self, component: str) -> Effects:
        """Those that compare this component with another, with the component first in each.

        Raises ZooError where none is of this component.
        """
        main, interactions = (
            [found for effect in effects if (found := effect.of(component))]
            for effects in (self.main, self.interactions)
        )
        if not main:
            known = dict.fromkeys(n for e in self.main for n in (e.component, e.against))
            raise ZooError(f"--of {component}: no effect of it here{nearest(component, known)}")
        return replace(self, main=main, interactions=interactions)

    def estimated(self, verdicts: Verdicts, speeds: Speeds) -> Effects:
        """The same with differences, speeds and memory.

        What the report has a verdict of keeps it; other effects are corrected for as a family.
        """
        judged = verdicts.including(*self.weights)

        def estimate(effect: Effect) -> Effect:
            return replace(
                effect,
                difference=judged.difference(effect.weights),
                speed={phase: speeds.contrast(phase, effect.weights) for phase in PHASES},
                memory=_memory(effect),
            )

        main, interactions = map(estimate, self.main), map(estimate, self.interactions)
        return replace(self, main=list(main), interactions=list(interactions))


def full_grid(
    rows: Sequence[Row], reference: str, only: Mapping[str, Sequence[str]] = {}
) -> Effects:
    """What is compared in the grid that these rows are, or in the part of it that ``only`` keeps.

    A cell that was skipped, or lacks a seed or a cost measurement that others have, is missing.
    Raises ZooError that names what is missing and how to restrict the grid: an average over the
    cells that happen to exist would compare each choice with different companions.
    """
    cells = [row for row in rows if not row.baseline]
    _refuse_unknown(cells, only)
    cells = [r for r in cells if all(r.cell[a] in chosen for a, chosen in only.items())]
    axes = varying_axes(cells, reference)
    if not axes:
        raise ZooError(
            "effects need a grid in which some axis has two choices; here there is "
            f"{', '.join(row.name for row in cells) or 'no cell'}"
        )
    known = {tuple(row.cell[axis] for axis in axes): row for row in cells}
    seeds = tuple(sorted({seed for row in cells for seed in row.values}))
    measured = any(row.measured for row in cells)
    grid = list(itertools.product(*axes.values()))
    lacks = {choices: _lack(known.get(choices), seeds, measured) for choices in grid}
    if missing := {choices: lack for choices, lack in lacks.items() if lack}:
        raise ZooError(_message(missing, axes))

    def pairs(plus: dict[str, str], minus: dict[str, str]) -> list[tuple[Row, Row, float]]:
        """Two choices in every combination of the axes that they do not fix."""
        free = [[plus[axis]] if axis in plus else axes[axis] for axis in axes]
        combinations = [
            dict(zip(axes, choices, strict=True)) for choices in itertools.product(*free)
        ]
        weight = 1 / len(combinations)
        return [
            (known[tuple(c.values())], known[tuple((c | minus).values())], weight)
            for c in combinations
        ]

    main = [
        Effect(axis, first, other, tuple(pairs({axis: first}, {axis: other})))
        for axis, (first, *others) in axes.items()
        for other in others
    ]
    interactions = []
    for axis, second in itertools.combinations(axes, 2):
        (one, *ones), (two, *twos) = axes[axis], axes[second]
        for against, other in itertools.product(ones, twos):
            first_pairs = pairs({axis: one, second: two}, {axis: against, second: two})
            other_pairs = pairs({axis: one, second: other}, {axis: against, second: other})
            both = (*first_pairs, *((plus, minus, -weight) for plus, minus, weight in other_pairs))
            interactions.append(Effect(axis, one, against, both, second, two, other))
    shape = " × ".join(f"{len(choices)} {axis}" for axis, choices in axes.items())
    return Effects(f"Averaged over the full grid of {shape}.", axes, main, interactions, seeds)


def comparable_effects(rows: Sequence[Row], reference: str) -> Effects | None:
    """What the rows allow to compare, in the full grid or with one factor at a time; else None.

    One factor at a time: each choice with all else as in the reference, without the choices that
    lack a seed.
    """
    base = next((row for row in rows if row.name == reference), None)
    if base is None:
        return None  # others may have been measured against it, but its own records are not here
    try:
        return full_grid(rows, reference)
    except ZooError:
        pass
    found: list[Effect] = []
    for row in rows:
        differing = [axis for axis in base.cell if row.cell.get(axis) != base.cell[axis]]
        if row.baseline or len(differing) != 1:
            continue
        with contextlib.suppress(ZooError):  # it failed or was skipped: nothing to compare
            found += full_grid([base, row], reference).main
    found.sort(key=lambda one: list(base.cell).index(one.axis))
    about = f"With everything else as in the reference, {reference}."
    return Effects(about, varying_axes(rows, reference), found) if found else None


def _memory(effect: Effect) -> float | None:
    total = 0.0
    for plus, minus, weight in effect.pairs:
        peaks = [row.cost.get("peak_memory_mib") for row in (plus, minus)]
        if not peaks[0] or not peaks[1]:
            return None
        total += weight * math.log(peaks[0] / peaks[1])
    return math.exp(total)


def _refuse_unknown(cells: Sequence[Row], only: Mapping[str, Sequence[str]]) -> None:
    axes = axes_of(cells)
    for axis, chosen in only.items():
        if axis not in axes:
            raise ZooError(f"--only {axis}: no such axis{nearest(axis, axes)}")
        known = list(dict.fromkeys(row.cell[axis] for row in cells))
        for choice in chosen:
            if choice not in known:
                raise ZooError(f"--only {axis}: no '{choice}' here{nearest(choice, known)}")


def _lack(row: Row | None, seeds: Sequence[int], measured: bool) -> str:
    """What a cell lacks; empty where it is complete."""
    if row is None:
        return "not run"
    if row.bad is not None and row.bad.status == "skipped":
        return f"skipped: {row.bad.reason}"
    if absent := [seed for seed in seeds if seed not in row.values]:
        why = f", {row.bad.status}" if row.bad and row.bad.kind == "train" else ""
        if len(absent) == len(seeds):
            return f"not trained{why}"
        return f"no seed {', '.join(map(str, absent))}{why}"
    if measured and not row.measured:
        why = f", {row.cost_record.status}" if row.cost_record else ""
        return f"no cost measurement{why}"
    return ""


def _message(missing: Mapping[tuple[str, ...], str], axes: Levels) -> str:
    named = [f"{'+'.join(choices)} ({lack})" for choices, lack in missing.items()]
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    text = f"the grid is not full; missing: {', '.join(named[:SHOWN])}{more}; run these, or"
    # The axis on which the largest share of choices lacks nothing.
    kept = {
        axis: [choice for choice in choices if choice not in {cell[place] for cell in missing}]
        for place, (axis, choices) in enumerate(axes.items())
    }
    best = max(axes, key=lambda axis: len(kept[axis]) / len(axes[axis]))
    if kept[best] and (len(kept[best]) > 1 or len(axes) > 1):
        return f"{text} restrict the grid: --only '{best}={','.join(kept[best])}'"
    return f"{text} restrict the grid with --only AXIS=NAME,NAME"
