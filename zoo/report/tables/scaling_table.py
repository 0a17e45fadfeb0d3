"""Costs at several lengths: a row for every point, and an exponent for every cell and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from zoo.errors import ZooError
from zoo.report.rows import varying
from zoo.report.stats.intervals import Interval
from zoo.report.tables.columns import ALWAYS, Column
from zoo.report.tables.notes import machine_summary, mixed
from zoo.report.tables.table import Table
from zoo.report.tables.text import bullets, tabulated
from zoo.sweep.records import Record

FEWEST = 3
# Metric to the head of its column and the factor from the metric's unit to the shown one.
COSTS = {
    "train_seconds": ("train ms", 1000.0),
    "infer_seconds": ("infer ms", 1000.0),
    "train_memory_mib": ("train MiB", 1.0),
    "infer_memory_mib": ("infer MiB", 1.0),
}
# MiB; below that a process's peak memory is a matter of pages and arenas, not of the work.
LEAST = 1.0


def fit(values: Sequence[int], costs: Sequence[float]) -> Interval | None:
    """The power with which costs grow: least squares of log cost on log value, upper half.

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
    return Interval(float(line.slope), float(stats.t.ppf(0.975, len(upper) - 2) * line.stderr))


@dataclass(frozen=True)
class Curve:
    """One cell along the axis. name: its choices on the axes on which cells differ."""

    name: str
    records: tuple[Record, ...]

    def points(self, metric: str) -> tuple[list[int], list[float]]:
        """Values and costs of the points that could be measured."""
        points = [
            (r.config["value"], cost)
            for r in self.records
            if r.status == "ok" and (cost := r.metrics.get(metric)) is not None
            if not _unmeasurable(metric, cost)
        ]
        return [v for v, _ in points], [c for _, c in points]

    def power(self, metric: str) -> str:
        """How the cost grows: ``2.00 ± 0.03``; empty where too few points were measured."""
        exponent = fit(*self.points(metric))
        return exponent.text(2) if exponent else ""


def curves(records: Sequence[Record]) -> list[Curve]:
    """The cells in the order in which they were recorded; of each point, the latest record.

    Raises ZooError where the records are of more than one axis.
    """
    axes = {record.config["over"] for record in records}
    if len(axes) != 1:
        raise ZooError(f"expected records of one axis, got {', '.join(sorted(axes))}")
    last = {(record.name, record.config["value"]): record for record in records}
    cells = {record.name: record.cell for record in records}
    differing = varying(list(cells.values())) or list(records[0].cell)[:1]
    return [
        Curve(
            "+".join(cell[axis] for axis in differing),
            tuple(last[key] for key in sorted(last) if key[0] == name),
        )
        for name, cell in cells.items()
    ]


def axis(records: Sequence[Record]) -> str:
    """What was varied, such as length."""
    return str(records[0].config["over"])


def scale_table(records: Sequence[Record]) -> Table:
    """A row per point: ``scale.csv`` holds seconds and MiB, and a reader sees ms and MiB."""
    over = axis(records)
    points = [(curve.name, record) for curve in curves(records) for record in curve.records]

    def column(key: str, help: str, value: Callable[[Any], Any], text: Any = str) -> Column:
        head = COSTS[key][0] if key in COSTS else key
        better = -1 if key in (*COSTS, over) else 0
        return Column(key, head, help, better, ALWAYS, value, lambda point: text(value(point)))

    def cost(metric: str) -> Column:
        def text(number: float | None) -> str:
            if number is None or _unmeasurable(metric, number):
                return "" if number is None else f"< {LEAST:g}"
            shown = COSTS[metric][1] * number
            return f"{shown:{',.0f' if shown >= 100 else '.3g'}}"

        return column(metric, "The cost of one step.", lambda p: p[1].metrics.get(metric), text)

    columns = [
        column("cell", "The cell.", lambda p: p[0]),
        column(over, "The size.", lambda p: int(p[1].config["value"]), "{:,}".format),
        *map(cost, COSTS),
        column(
            "status",
            "How it ended.",
            lambda p: p[1].status,
            lambda status: "" if status == "ok" else status,
        ),
        column("reason", "Why it failed.", lambda p: p[1].reason),
    ]
    lines = [{column.key: column.value(point) for column in columns} for point in points]
    return Table(points, columns, lines)


def as_text(records: Sequence[Record], style: str = "simple") -> str:
    """The table of points, the table of exponents, and notes on both."""
    powers = [[c.name, *map(c.power, COSTS)] for c in curves(records)]
    heads = ["cell", "train time", "infer time", "train memory", "infer memory"]
    ways = dict.fromkeys(str(r.metrics["memory_how"]) for r in records if r.metrics)
    base = records[0].config["base"].items()
    sizes = ", ".join(f"{name.replace('_', ' ')} {size:,}" for name, size in base)
    notes = [
        "A step is one batch of texts of full length, without padding; training is forward, "
        "backward and AdamW. Times are medians over rounds in which all cells take turns.",
        f"Memory: {' or '.join(ways) or 'not measured'}, each in a process of its own; less than "
        f"{LEAST:g} MiB cannot be measured.",
        "Powers: least squares on logarithms over the upper "
        "half of what was measured, with the 95% t-interval of the slope.",
        f"Sizes: {sizes}. Machine: {machine_summary(records[0].environment)}.",
        *mixed(records),
    ]
    parts = [
        scale_table(records).text(style),
        f"Grows with {axis(records)} to the power of:",
        tabulated(powers, heads, style),
        bullets(notes),
    ]
    return "\n\n".join(parts)


def _unmeasurable(metric: str, cost: float) -> bool:
    return metric.endswith("_mib") and cost < LEAST
