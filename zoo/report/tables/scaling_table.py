"""Costs at several lengths: a row for every point, and an exponent for every cell and cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from zoo.report.rows import varying
from zoo.report.stats.intervals import ALPHA, Interval
from zoo.report.tables.notes import machine_summary, mixed
from zoo.report.tables.text import bullets, line, plain, tabulated
from zoo.sweep.records import Record

FEWEST, LENGTH = 3, "length"
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
    fitted = stats.linregress(logs[:, 0], logs[:, 1])
    error = np.nan_to_num(fitted.stderr)  # of constant costs SciPy knows none
    quantile = float(stats.t.ppf(1 - ALPHA / 2, len(upper) - 2))
    return Interval.symmetric(float(fitted.slope), quantile * float(error))


def scale_table(records: Sequence[Record]) -> pd.DataFrame:
    """A row per point, from its latest record: seconds and MiB, and how it ended.

    Cells have the choices that differ as names, and stand in the order in which they were recorded.
    """
    cells = {record.name: record.cell for record in records}
    last = {(record.name, record.config["value"]): record for record in records}
    differing = varying(list(cells.values())) or list(records[0].cell)[:1]
    points = [
        {"cell": "+".join(record.cell[axis] for axis in differing), LENGTH: value}
        | {cost: record.metrics.get(cost) for cost in COSTS}
        | {"status": record.status, "reason": record.reason}
        for name in cells
        for (of_cell, value), record in sorted(last.items(), key=lambda item: item[0])
        if of_cell == name
    ]
    frame = pd.DataFrame(points).astype(dict.fromkeys(COSTS, "float"))
    for cost in (cost for cost in COSTS if cost.endswith("_mib")):
        frame.loc[frame[cost] < LEAST, cost] = np.nan
    return frame


def powers(records: Sequence[Record]) -> dict[str, dict[str, str]]:
    """Cell to how each cost grows, ``2.00 ± 0.03``; empty where too few points were measured."""
    exponents: dict[str, dict[str, str]] = {}
    for name, frame in scale_table(records).groupby("cell", sort=False):
        for cost in COSTS:
            known = frame.dropna(subset=[cost])
            exponent = fit(known[LENGTH].tolist(), known[cost].tolist())
            exponents.setdefault(str(name), {})[cost] = exponent.text(2) if exponent else ""
    return exponents


def as_text(records: Sequence[Record], style: str = "simple") -> str:
    """The table of points, the table of exponents, and notes on both."""
    frame = scale_table(records)
    frame["status"] = frame["status"].replace("ok", "")
    for cost, (_, factor) in COSTS.items():
        shown = (frame[cost] * factor).map(lambda x: f"{x:{',.0f' if x >= 100 else '.3g'}}")
        frame[cost] = shown.where(frame[cost].notna(), "")
    frame = frame.rename(columns={cost: head for cost, (head, _) in COSTS.items()})
    frame[LENGTH] = frame[LENGTH].map("{:,}".format)
    exponents = [[name, *of_cell.values()] for name, of_cell in powers(records).items()]
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
        *mixed(records, records),
    ]
    align = ["left", *["right"] * (1 + len(COSTS)), "left", "left"]
    parts = [
        tabulated(frame.to_numpy().tolist(), frame.columns.tolist(), style, align),
        "Grows with length to the power of:",
        tabulated(exponents, heads, style),
        bullets(map(line if style == "github" else plain, notes)),
    ]
    return "\n\n".join(parts)
