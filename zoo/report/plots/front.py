"""The ranking metric against speed: points with their intervals, and the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from zoo.report.plots import plot
from zoo.report.plots.plot import Plot
from zoo.report.run_report import RunReport
from zoo.report.tables.text import plain

FAR = 3.0  # largest over smallest value from which on a scale is logarithmic


def front_plots(run: RunReport) -> list[Plot]:
    """The plot of the metric against training speed, if there are two cells to show."""
    metric, score = run.metric, f"{run.metric.name}_mean"
    cost, base = "train_ratio", run.reference_row
    name = run.short_name(base, plot.SHORT) if base else plain(run.reference, plot.SHORT)
    label = f"training speed, × that of {name}"
    cells = {
        number: line
        for number, line in enumerate(run.lines)
        if not line["baseline"] and None not in (line[cost], line[score])
    }
    if len(cells) < 2:
        return []
    front = front_of({n: (metric.better(v[score]), v[cost]) for n, v in cells.items()})
    reference = [n for n in cells if run.rows[n].name == run.reference]
    named = dict.fromkeys([*reference, *front])
    styles = zip(plot.HUES, plot.MARKERS, strict=False)
    looks = dict(zip(list(named)[: plot.NAMED], styles, strict=False))
    figure = Figure(figsize=(plot.WIDTH, 3.8), layout="constrained")
    axes = figure.subplots()
    for n in [*(n for n in cells if n not in looks), *looks]:
        line, (hue, marker) = cells[n], looks.get(n, (plot.MUTED, "o"))
        axes.errorbar(
            line[cost],
            line[score],
            xerr=_error(line, cost, line[cost]),
            yerr=_error(line, metric.name, line[score]),
            color=hue,
            linewidth=1,
            marker=marker,
            markerfacecolor=hue if n in front else plot.PAPER,
            label=run.short_name(run.rows[n], plot.NAME) if n in looks else None,
        )
    # A step is at the best score available at that speed.
    stairs = [cells[n][cost] for n in front], [cells[n][score] for n in front]
    axes.step(*stairs, "--", where="pre", color=plot.INK, linewidth=1)
    costs = [line[cost] for line in cells.values()]
    if 0 < FAR * min(costs) < max(costs):
        axes.set_xscale("log", subs=[2, 5])
        axes.xaxis.set_minor_formatter(StrMethodFormatter("{x:,g}"))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    worth = f", share of {metric.scored}" if metric.paired else ""
    worth += "" if metric.higher_is_better else " (lower is better)"
    axes.set(xlabel=f"{label}\n(right is better)", ylabel=run.metric.label + worth)
    plot.add_legend(figure)
    about = "Filled and joined by the dashed line: the front of the means. Bars: 95% intervals."
    title = f"{metric.label} against training speed"
    return [plot.finish("pareto-speed", title[:1].upper() + title[1:], about, figure)]


def _error(line: Mapping[str, Any], key: str, middle: float) -> list[list[float]] | None:
    """How far an interval reaches below and above; None where there is none."""
    low, high = line.get(f"{key}_low"), line.get(f"{key}_high")
    if low is None or high is None:
        return None
    return [[max(0.0, middle - low)], [max(0.0, high - middle)]]


def front_of(cells: Mapping[int, tuple[float, float]]) -> list[int]:
    """The keys of (score, speed) that no other beats on both, the best score first; more is better.

    Of equal scores the one with the higher speed counts.
    """
    front: list[int] = []
    for key in sorted(cells, key=cells.__getitem__, reverse=True):
        if not front or cells[key][1] > cells[front[-1]][1]:
            front.append(key)
    return front
