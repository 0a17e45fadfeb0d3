"""Curves of training per epoch, and of costs by length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from zoo.report.plots.plot import HUES, MARKERS, NUMBERS, RULE, WIDTH, Plot, finish, styled
from zoo.report.rows import Row
from zoo.report.run_report import RunReport
from zoo.report.tables.scaling_table import COSTS, axis, curves
from zoo.report.tables.text import plain
from zoo.sweep.records import Record

NAMED = 6  # cells in colour; the others are grey
HEIGHT, NAME = 2.1, 22  # inches of a panel; characters of a name in the legend
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
SHOWN = {"loss": "loss, nats", "accuracy": "accuracy, share right"}  # what may be in a curve
TITLES = ("training step", "inference step", "training memory", "inference memory")
Curve = dict[str, NDArray[np.float64]]  # key to values (seeds, epochs)


def epoch_plots(run: RunReport) -> list[Plot]:
    """One plot with a panel for each quantity in the curves; none where there are no curves."""
    of_rows = {n: _curve(run.rows[n]) for n in run.drawn if run.rows[n].trained}
    curves = {n: curve for n, curve in of_rows.items() if curve}
    shown = [key for key in SHOWN if any(key in curve for curve in curves.values())]
    if not shown or max(len(c["number"][0]) for c in curves.values()) < 2:
        return []
    # The reference and the best, in the order of the table.
    chosen = sorted(sorted(curves, key=lambda n: (run.rows[n].name != run.reference, n))[:NAMED])
    styles: dict[int, dict[str, Any]] = {n: {"color": RULE, "linewidth": 0.7} for n in curves}
    for n, hue, dashes in zip(chosen, HUES, LINES, strict=False):
        styles[n] = {"color": hue, "linestyle": dashes, "linewidth": 1.5}
    figure = Figure(figsize=(WIDTH, HEIGHT * len(shown) + 0.7), layout="constrained")
    panels = figure.subplots(len(shown), squeeze=False, sharex=True)[:, 0]
    marks = {}
    for place, (key, axes) in enumerate(zip(shown, panels, strict=True)):
        drawn = sorted((n for n in curves if key in curves[n]), key=lambda n: (n in chosen, n))
        for n in drawn:
            epochs, values = curves[n]["number"][0], curves[n][key]
            marks[gid := f"row-{n}-{place}"] = run.describe(n)
            axes.plot(epochs, values.mean(axis=0), gid=gid, **styles[n])
            if n in chosen and len(values) > 1:
                low, high = values.min(axis=0), values.max(axis=0)
                band = {"color": styles[n]["color"], "alpha": 0.18, "linewidth": 0}
                axes.fill_between(epochs, low, high, **band)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel(SHOWN[key])
        values = np.concatenate([curves[n][key].ravel() for n in drawn])
        if key == "loss" and values.min() > 0 and values.max() / values.min() > 10:
            _log_scale(axes)
    panels[-1].set_xlabel("epoch")
    handles = [Line2D([], [], **styles[n]) for n in chosen]
    names = [plain(run.short_name(run.rows[n]), NAME) for n in chosen]
    figure.legend(handles, names, loc="outside lower center", ncols=2)
    about = (
        "Lines: mean over seeds on the training split, during training and so with dropout. The "
        "shaded band is from the lowest to the highest seed."
    )
    if rest := len(curves) - len(chosen):
        about += f" The reference and the best are in colour; the other {rest} are grey."
    title = f"{' and '.join(shown).capitalize()} per epoch"
    return [finish("epochs", title, f"{about} {run.drawn_note}".rstrip(), figure, marks)]


def _curve(row: Row) -> Curve:
    """Of the epochs that all seeds have; empty where there are none."""
    steps = [record.curve for record in row.trained.values() if record.curve]
    epochs = min(map(len, steps), default=0)
    if not epochs:
        return {}
    keys = [k for k in ("number", *SHOWN) if all(k in step for curve in steps for step in curve)]
    values = {k: np.array([[s[k] for s in curve[:epochs]] for curve in steps]) for k in keys}
    return values if "number" in values else {}


def _log_scale(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(NUMBERS)


@styled()
def scale_plot(records: Sequence[Record]) -> Plot:
    """Time and memory of a step by length: a line for each cell."""
    cells, over = curves(records), axis(records)
    lengths = sorted({record.config["value"] for record in records})
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    marks: dict[str, str] = {}
    styles: list[dict[str, Any]] = [
        {"color": HUES[n % len(HUES)], "marker": MARKERS[n % len(MARKERS)], "markersize": 4}
        for n in range(len(cells))
    ]
    for place, (metric, axes) in enumerate(zip(COSTS, panels, strict=True)):
        head, factor = COSTS[metric]
        for number, curve in enumerate(cells):
            gid, power = f"row-{number}-{place}", curve.power(metric)
            marks[gid] = f"{curve.name}: {over} to the power of {power}" if power else curve.name
            values, costs = curve.points(metric)
            shown = [cost * factor for cost in costs]
            axes.plot(values, shown, linewidth=1.3, gid=gid, **styles[number])
        axes.set(title=TITLES[place], xlabel=f"{over}, tokens", ylabel=head.split()[-1])
        if axes.dataLim.minpos.min() < np.inf:  # something was measured
            axes.set_xscale("log", base=2)
            _log_scale(axes)
        axes.xaxis.set_major_locator(FixedLocator(lengths))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
        axes.tick_params(axis="x", labelrotation=45 if len(lengths) > 4 else 0)
    names = [plain(curve.name, 30) for curve in cells]
    handles = [
        Line2D([], [], label=name, **style) for name, style in zip(names, styles, strict=True)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)))
    about = (
        f"Cost of one step of one batch against {over}. Both scales are logarithmic: a straight "
        "line is a power, and its slope the exponent. A line ends where a cell ran out of memory "
        "or time."
    )
    return finish("scale", f"How cost grows with {over}", about, figure, marks)
