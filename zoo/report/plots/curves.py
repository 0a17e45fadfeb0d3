"""Curves of the loss per epoch, and of costs by length."""

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

HEIGHT = 2.4  # inches
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
TITLES = ("training step", "inference step", "training memory", "inference memory")


def epoch_plots(run: RunReport) -> list[Plot]:
    """The plot of the loss; none where no row has one of two epochs."""
    rows = sorted(run.rows, key=lambda row: row.name != run.reference)
    curves = [(row, losses) for row in rows if (losses := losses_of(row)).shape[1] > 1]
    if not curves:
        return []
    figure = Figure(figsize=(plot.WIDTH, HEIGHT), layout="constrained")
    axes = figure.subplots()
    for (row, losses), hue, dashes in zip(curves[: plot.NAMED], plot.HUES, LINES, strict=False):
        epochs = np.arange(losses.shape[1]) + 1
        label = run.short_name(row, plot.NAME)
        axes.plot(epochs, losses.mean(axis=0), color=hue, linestyle=dashes, label=label)
        ends = losses.min(axis=0), losses.max(axis=0)
        axes.fill_between(epochs, *ends, color=hue, alpha=0.18, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="epoch", ylabel="loss, nats")
    plot.add_legend(figure)
    about = (
        "Lines: mean over seeds on the training split, during training and so with dropout. The "
        "shaded band is from the lowest to the highest seed."
    )
    if len(curves) > plot.NAMED:
        about += f" Shown are the reference and the best of {len(curves)} rows."
    return [plot.finish("epochs", "Loss per epoch", about, figure)]


def losses_of(row: ReportRow) -> NDArray[np.float64]:
    """The loss (seeds, epochs), of the epochs that all seeds have."""
    curves = [[step["loss"] for step in record.curve] for record in row.trained.values()]
    epochs = min(map(len, curves), default=0)
    return np.array([losses[:epochs] for losses in curves]).reshape(len(curves), epochs)


@plot.styled()
def scale_plot(records: Sequence[Record]) -> Plot:
    """Time and memory of a step by length: a line for each cell."""
    frame = scale_table(records)
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
