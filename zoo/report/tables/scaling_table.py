"""A row for every point, and an exponent for every cell and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import stats

from zoo.errors import ZooError
from zoo.report.rows import varying
from zoo.report.tables.columns import ALWAYS, RARELY, Column
from zoo.report.tables.notes import machine_summary, mixed
from zoo.report.tables.table import Table
from zoo.report.tables.text import bullets, tabulated
from zoo.sweep.records import Record

FEWEST = 3
Point: TypeAlias = tuple[str, Record]  # the name of a cell, and what one size of it costs


@dataclass(frozen=True)
class Exponent:
    """cost ∝ value^power over the values from ``first`` on, with its 95% interval."""

    power: float
    low: float
    high: float
    first: int
    points: int

    def __str__(self) -> str:
        return f"{self.power:.2f} ({self.low:.2f} to {self.high:.2f})"


def fit(values: Sequence[int], costs: Sequence[float]) -> Exponent | None:
    """Least squares of log cost on log value, over the upper half of the values.

    The lower half is dominated by constant costs: a process's own memory, a step's fixed work.
    Half is rounded up and has at least three points; with fewer points the result is None. The
    interval is Student's t of the slope, with the number of points less two degrees of freedom.
    """
    pairs = sorted((v, c) for v, c in zip(values, costs, strict=True) if c > 0)
    upper = pairs[-max(FEWEST, -(-len(pairs) // 2)) :]
    if len(upper) < FEWEST:
        return None
    logs = np.log(np.array(upper, dtype=float))
    line = stats.linregress(logs[:, 0], logs[:, 1])
    wide = float(stats.t.ppf(0.975, len(upper) - 2) * line.stderr)
    slope = float(line.slope)
    return Exponent(slope, slope - wide, slope + wide, upper[0][0], len(upper))


# Metric to the head of its column and the factor from the metric's unit to the shown one.
COSTS = {
    "train_seconds": ("train ms", 1000.0),
    "infer_seconds": ("infer ms", 1000.0),
    "train_memory_mib": ("train MiB", 1.0),
    "infer_memory_mib": ("infer MiB", 1.0),
}
# MiB; below that a process's peak memory is a matter of pages and arenas, not of the work.
LEAST = 1.0


@dataclass(frozen=True)
class Curve:
    """One cell along the axis. name: its choices on the axes on which cells differ."""

    name: str
    records: tuple[Record, ...]

    def points(self, metric: str) -> tuple[list[int], list[float]]:
        """Values and costs of the points that could be measured."""
        points = [
            (r.config["value"], r.metrics[metric])
            for r in self.records
            if r.status == "ok" and (cost := r.metrics.get(metric)) is not None
            if not _unmeasurable(metric, cost)
        ]
        return [v for v, _ in points], [c for _, c in points]

    def exponent(self, metric: str) -> Exponent | None:
        """How the cost grows; None where too few points were measured."""
        return fit(*self.points(metric))


def curves(records: Sequence[Record]) -> list[Curve]:
    """The cells in the order in which they were recorded; of each point, the latest record.

    Raises ZooError where the records are of more than one axis.
    """
    axes = {record.config["over"] for record in records}
    if len(axes) != 1:
        raise ZooError(f"expected records of one axis, got {', '.join(sorted(axes))}")
    last = {(record.name, record.config["value"]): record for record in records}
    cells = {record.name: record.cell for record in reversed(records)}
    differing = varying(list(cells.values())) or list(next(iter(cells.values())))[:1]
    return [
        Curve(
            "+".join(cells[name][axis] for axis in differing),
            tuple(last[key] for key in sorted(last) if key[0] == name),
        )
        for name in dict.fromkeys(record.name for record in records)
    ]


def axis(records: Sequence[Record]) -> str:
    """What was varied, such as length."""
    return str(records[0].config["over"])


def scale_table(records: Sequence[Record]) -> Table:
    """A row per point: ``scale.csv`` holds seconds and MiB, and a reader sees ms and MiB."""
    over = axis(records)
    points = [(curve.name, record) for curve in curves(records) for record in curve.records]

    def cost(metric: str) -> Column:
        head, factor = COSTS[metric]

        def value(point: Point) -> float | None:
            return point[1].metrics.get(metric)

        def text(point: Point) -> str:
            number = value(point)
            if number is None or _unmeasurable(metric, number):
                return "" if number is None else f"< {LEAST:g}"
            return f"{factor * number:{',.0f' if factor * number >= 100 else '.3g'}}"

        return Column(metric, head, "The cost of one step.", -1, ALWAYS, value, text)

    def status(point: Point) -> str:
        return "" if point[1].status == "ok" else point[1].status

    def size(point: Point) -> int:
        return int(point[1].config["value"])

    def reason(point: Point) -> str:
        return point[1].reason

    columns = [
        Column("cell", "cell", "The cell.", 0, ALWAYS, lambda p: p[0], lambda p: p[0]),
        Column(over, over, "The size.", -1, ALWAYS, size, lambda p: f"{size(p):,}"),
        *map(cost, COSTS),
        Column("status", "status", "How it failed.", 0, ALWAYS, lambda p: p[1].status, status),
        Column("reason", "reason", "Why it failed.", 0, RARELY, reason, reason),
    ]
    lines = [{column.key: column.value(point) for column in columns} for point in points]
    return Table(points, columns, lines)


def as_text(records: Sequence[Record], style: str = "simple") -> str:
    """The table of points, the table of exponents, and notes on both."""
    powers = [[c.name, *(str(c.exponent(m) or "") for m in COSTS)] for c in curves(records)]
    heads = ["cell", "train time", "infer time", "train memory", "infer memory"]
    parts = [
        scale_table(records).text(style),
        f"Grows with {axis(records)} to the power of:",
        tabulated(powers, heads, style),
        bullets(_notes(records)),
    ]
    return "\n\n".join(parts)


def _unmeasurable(metric: str, cost: float) -> bool:
    return metric.endswith("_mib") and cost < LEAST


def _notes(records: Sequence[Record]) -> list[str]:
    ways = dict.fromkeys(str(r.metrics["memory_how"]) for r in records if r.metrics)
    base = records[0].config["base"].items()
    sizes = ", ".join(f"{name.replace('_', ' ')} {size:,}" for name, size in base)
    return [
        "A step is one batch of texts of full length, without padding; training is forward, "
        "backward and AdamW. Times are medians over rounds in which all cells take turns.",
        f"Memory: {' or '.join(ways) or 'not measured'}, each in a process of its own; less than "
        f"{LEAST:g} MiB cannot be measured.",
        "Powers: least squares on logarithms over the upper half of what was measured (at least "
        "three points), with the 95% t-interval of the slope.",
        f"Sizes: {sizes}. Machine: {machine_summary(records[0].environment)}.",
        *mixed(records),
    ]
