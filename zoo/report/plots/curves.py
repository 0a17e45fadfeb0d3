"""Curves of training per epoch, and of costs by length."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator, StrMethodFormatter
from numpy.typing import NDArray

from zoo.report.plots import plot
from zoo.report.plots.plot import Plot
from zoo.report.rows import ReportRow
from zoo.report.run_report import RunReport
from zoo.report.tables.scaling_table import COSTS, LENGTH, scale_table
from zoo.sweep.records import Record

HEIGHT = 2.1  # inches of a panel
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
SHOWN = {"loss": "loss, nats", "accuracy": "accuracy, share right"}  # what may be in a curve
TITLES = ("training step", "inference step", "training memory", "inference memory")
Curve = dict[str, NDArray[np.float64]]  # key to values (seeds, epochs)


def epoch_plots(run: RunReport) -> list[Plot]:
    """One plot with a panel for each quantity in the curves; none where there are no curves."""
    rows = sorted(run.rows, key=lambda row: row.name != run.reference)
    curves = [(row, curve) for row in rows if (curve := epochs_of(row))]
    shown = [key for key in SHOWN if any(key in curve for _, curve in curves[: plot.NAMED])]
    if not shown or max(curve["number"].shape[1] for _, curve in curves) < 2:
        return []
    figure = Figure(figsize=(plot.WIDTH, HEIGHT * len(shown) + 0.3), layout="constrained")
    panels = figure.subplots(len(shown), squeeze=False, sharex=True)[:, 0]
    for key, axes in zip(shown, panels, strict=True):
        for (row, curve), hue, dashes in zip(curves[: plot.NAMED], plot.HUES, LINES, strict=False):
            if key in curve:
                epochs, values = curve["number"][0], curve[key]
                look = {"linestyle": dashes, "label": run.short_name(row, plot.NAME)}
                axes.plot(epochs, values.mean(axis=0), color=hue, **look)
                ends = values.min(axis=0), values.max(axis=0)
                axes.fill_between(epochs, *ends, color=hue, alpha=0.18, linewidth=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel(SHOWN[key])
    panels[-1].set_xlabel("epoch")
    plot.add_legend(figure)
    about = (
        "Lines: mean over seeds on the training split, during training and so with dropout. The "
        "shaded band is from the lowest to the highest seed."
    )
    if len(curves) > plot.NAMED:
        about += f" Shown are the reference and the best of {len(curves)} rows."
    return [plot.finish("epochs", f"{' and '.join(shown).capitalize()} per epoch", about, figure)]


def epochs_of(row: ReportRow) -> Curve:
    """The curves of the epochs that all seeds have; empty where there are none."""
    steps = [record.curve for record in row.trained.values() if record.curve]
    epochs = min(map(len, steps), default=0)
    if not epochs:
        return {}
    keys = [k for k in ("number", *SHOWN) if all(k in step for curve in steps for step in curve)]
    values = {k: np.array([[s[k] for s in curve[:epochs]] for curve in steps]) for k in keys}
    return values if "number" in values else {}


def scale_plot(records: Sequence[Record]) -> Plot:
    """Time and memory of a step by length: a line for each cell."""
    frame = scale_table(records)
    with plot.styled():
        figure = Figure(figsize=(6.4, 5.0), layout="constrained")
        panels = figure.subplots(2, 2).ravel()
        for title, metric, axes in zip(TITLES, COSTS, panels, strict=True):
            head, factor = COSTS[metric]
            styles = zip(itertools.cycle(plot.HUES), itertools.cycle(plot.MARKERS), strict=False)
            cells = frame.groupby("cell", sort=False)
            for (name, points), (hue, marker) in zip(cells, styles, strict=False):
                costs, look = factor * points[metric], {"color": hue, "marker": marker}
                axes.plot(points[LENGTH], costs, markersize=4, label=name, **look)
            axes.set(xscale="log", title=title, ylabel=head.split()[-1])
            axes.xaxis.set_major_locator(FixedLocator(sorted(frame[LENGTH].unique())))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.tick_params(axis="x", labelrotation=45)
            if frame[metric].gt(0).any():
                axes.set_yscale("log")
                axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            for of_axes in (axes.xaxis, axes.yaxis):
                of_axes.set_major_formatter(StrMethodFormatter("{x:,g}"))
        figure.supxlabel("length, tokens", fontsize="medium")
        plot.add_legend(figure)
        about = (
            "Cost of one step of one batch against length. Both scales are logarithmic: a "
            "straight line is a power, and its slope the exponent. A line ends where a cell ran "
            "out of memory or time."
        )
        return plot.finish("scale", "How cost grows with length", about, figure)
