"""Curves of training per epoch, and of costs by size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FixedLocator,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)
from numpy.typing import NDArray

from zoo.report.plots.plot import (
    HUES,
    MARKERS,
    RULE,
    WIDTH,
    Plot,
    finish,
    styled,
)
from zoo.report.rows import Row
from zoo.report.run_report import RunReport
from zoo.report.tables.scaling_table import COSTS, axis, curves
from zoo.report.tables.scaling_table import Curve as Costs
from zoo.report.tables.text import plain
from zoo.sweep.records import Record

NAMED = 6  # cells in colour; the others are grey
HEIGHT, LINE = 2.1, 0.17  # inches: of a panel, and of a line of the legend
NAME, LONGEST = 22, 46  # characters of a name in the legend, and of one that stands for several
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
# What may be in a curve, with its unit.
SHOWN = {"loss": "loss, nats", "accuracy": "accuracy, share right"}
TITLES = ("training step", "inference step", "training memory", "inference memory")
SIZES = {"length": "length, tokens", "dim": "width", "layers": "layers", "batch": "batch, texts"}
CROSS: dict[str, Any] = {"marker": "x", "linestyle": "none"}
Curve = dict[str, NDArray[np.float64]]  # key to values (seeds, epochs)


def epoch_plots(run: RunReport) -> list[Plot]:
    """One plot with a panel for each quantity in the curves; none where there are no curves."""
    of_rows = {n: _curve(run.rows[n]) for n in run.drawn if run.rows[n].trained}
    curves = {n: found for n, found in of_rows.items() if found}
    shown = [key for key in SHOWN if any(key in found for found in curves.values())]
    if not shown or max(len(c["number"][0]) for c in curves.values()) < 2:
        return []
    # The reference and the best, in the order of the table.
    chosen = sorted(curves, key=lambda n: (run.rows[n].name != run.reference, n))[:NAMED]
    # Rows with the same results lie on each other.
    first = {row.name: group[0].name for group in run.verdicts.equal_rows() for row in group}
    alike: dict[str, list[int]] = {}
    for n in sorted(chosen):
        alike.setdefault(first.get(run.rows[n].name, run.rows[n].name), []).append(n)
    groups = list(alike.values())
    order = {n: place for place, group in enumerate(groups) for n in group}
    names = [
        plain(" = ".join(run.short_name(run.rows[n], NAME) for n in group), LONGEST)
        for group in groups
    ]
    columns = 2 if max(map(len, names)) <= NAME else 1
    height = HEIGHT * len(shown) + LINE * (len(names) / columns + 1)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    panels = figure.subplots(len(shown), squeeze=False, sharex=True)[:, 0]
    marks = {}
    for place, (key, axes) in enumerate(zip(shown, panels, strict=True)):
        for number in sorted(curves, key=lambda n: (n in order, n)):
            if key not in curves[number]:
                continue
            gid = f"row-{number}-{place}"
            marks[gid] = run.describe(number)
            _draw_curve(axes, curves[number], key, order.get(number), gid)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        values = np.concatenate([c[key].ravel() for c in curves.values() if key in c])
        if key == "loss" and values.min() > 0 and values.max() / values.min() > 10:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator())
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.set_ylabel(SHOWN[key])
    panels[-1].set_xlabel("epoch")
    handles = [
        Line2D([], [], color=HUES[place], linestyle=LINES[place], linewidth=1.5)
        for place in range(len(groups))
    ]
    figure.legend(handles, names, loc="outside lower center", ncols=columns)
    title = f"{' and '.join(shown).capitalize()} per epoch"
    about = _about_epochs(run, curves, groups)
    return [finish("epochs", title, about, figure, marks)]


def _about_epochs(run: RunReport, curves: dict[int, Curve], groups: Sequence[list[int]]) -> str:
    about = (
        "Lines: mean over seeds on the training split, during training and so with dropout. The "
        "shaded band is from the lowest to the highest seed."
    )
    if together := [", ".join(run.short_name(run.rows[n]) for n in g) for g in groups if g[1:]]:
        about += f" Rows with the same results have one line: {'; '.join(together)}."
    if rest := len(curves) - sum(map(len, groups)):
        about += f" The reference and the best are in colour; the other {rest} are grey."
    return f"{about} {run.drawn_note}".rstrip()


def _curve(row: Row) -> Curve:
    """Of the epochs that all seeds have; empty where there are none."""
    found = [record.curve for record in row.trained.values() if record.curve]
    epochs = min(map(len, found), default=0)
    if not epochs:
        return {}
    keys = [key for key in ("number", *SHOWN) if all(key in step for c in found for step in c)]
    values = {key: np.array([[s[key] for s in c[:epochs]] for c in found], float) for key in keys}
    return values if "number" in values else {}


def _draw_curve(axes: Axes, curve: Curve, key: str, order: int | None, gid: str) -> None:
    hue, style, width = (RULE, "-", 0.7) if order is None else (HUES[order], LINES[order], 1.5)
    epochs, values = curve["number"][0], curve[key]
    if order is not None and len(values) > 1:
        low, high = values.min(axis=0), values.max(axis=0)
        axes.fill_between(epochs, low, high, color=hue, alpha=0.18, linewidth=0)
    axes.plot(epochs, values.mean(axis=0), color=hue, linestyle=style, linewidth=width, gid=gid)


@styled()
def scale_plot(records: Sequence[Record]) -> Plot:
    """Time and memory of a step by size: a line for each cell, and a cross where one failed."""
    found, over = curves(records), axis(records)
    # The value at which each cell failed.
    failed = [
        next((r.config["value"] for r in c.records if r.status not in ("ok", "skipped")), None)
        for c in found
    ]
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    marks: dict[str, str] = {}
    for place, (metric, axes) in enumerate(zip(COSTS, panels, strict=True)):
        for number, curve in enumerate(found):
            gid, style = f"row-{number}-{place}", _marked(number)
            exponent = curve.exponent(metric)
            power = f": {over} to the power of {exponent}" if exponent else ""
            marks[gid] = f"{curve.name}{power}"
            values, costs = curve.points(metric)
            shown = [cost * COSTS[metric][1] for cost in costs]
            axes.plot(values, shown, linewidth=1.3, gid=gid, **style)
            if (stopped := failed[number]) and shown:
                axes.plot([stopped], [shown[-1]], color=style["color"], **CROSS)
        axes.set_title(TITLES[place])
        _scale_axes(axes, metric, over, found)
    handles = [
        Line2D([], [], label=plain(curve.name, 30), **_marked(number))
        for number, curve in enumerate(found)
    ]
    if any(failed):
        handles.append(Line2D([], [], label="failed", color="k", **CROSS))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)))
    about = (
        f"Cost of one step of one batch against {SIZES[over]}. Both scales are logarithmic: a "
        "straight line is a power, and its slope the exponent. A cross marks where a cell ran "
        "out of memory or time, at the last cost that was measured."
    )
    return finish("scale", f"How cost grows with {over}", about, figure, marks)


def _scale_axes(axes: Axes, metric: str, over: str, found: Sequence[Costs]) -> None:
    if not any(curve.points(metric)[0] for curve in found):
        axes.set_axis_off()
        note = axes.text(0.5, 0.5, "not measured", ha="center", transform=axes.transAxes)
        note.set_in_layout(False)
        return
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    values = sorted({r.config["value"] for curve in found for r in curve.records})
    axes.xaxis.set_major_locator(FixedLocator(values))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(values, [f"{value:,}" for value in values])
    axes.tick_params(axis="x", labelrotation=45 if len(values) > 4 else 0)
    axes.yaxis.set_major_locator(LogLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(SIZES[over])
    axes.set_ylabel(COSTS[metric][0].split()[-1])


def _marked(number: int) -> dict[str, Any]:
    hue, marker = HUES[number % len(HUES)], MARKERS[number % len(MARKERS)]
    return {"color": hue, "marker": marker, "markersize": 4}
