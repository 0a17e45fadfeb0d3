"""The ranking metric against cost: points with their intervals, and the Pareto front."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import Bbox

from zoo.config.metric_description import MetricDescription
from zoo.report.plots.plot import HUES, INK, MUTED, NUMBERS, PAPER, SMALL, WIDTH, Plot, finish
from zoo.report.run_report import RunReport
from zoo.report.tables.text import plain

NAMED, LABEL = 6, 32  # labels at most, the reference's first; characters of one
FAR = 3.0  # largest over smallest value from which on a scale is logarithmic
ACROSS = 48  # characters of an axis label in one line
SEEN = 0.7  # a baseline farther away than this many heights of the cells has no line
OFF = 12  # points between a label and its point


@dataclass(frozen=True)
class Point:
    """One cell in the plot; intervals are None where there are none."""

    number: int
    x: float
    y: float
    xs: tuple[float, float] | None
    ys: tuple[float, float] | None


def front_plots(run: RunReport) -> list[Plot]:
    """Metric against speed, and against memory, if there are two cells to show."""
    base = run.position.get(run.reference)
    speed, label = "train_tokens_per_s", "training speed, tokens/s"
    if base is not None and sum(line["train_ratio"] is not None for line in run.lines) >= 2:
        speed, label = "train_ratio", f"training speed, × that of {run.short_name(run.rows[base])}"
        if (rate := run.lines[base]["train_tokens_per_s"]) is not None:
            label += f", which does {rate:,.0f} tokens/s"
    memory = "peak memory in training, MiB"
    plots = (
        _front_plot(run, "pareto-speed", speed, label, "training speed"),
        _front_plot(run, "pareto-memory", "peak_memory_mib", memory, "memory"),
    )
    return [plot for plot in plots if plot]


def _front_plot(run: RunReport, plot: str, column: str, label: str, cost: str) -> Plot | None:
    """column: of the table, with ``_low`` and ``_high`` its interval; less memory is better."""
    more = cost != "memory"
    cells = (n for n, row in enumerate(run.rows) if not row.baseline)
    known = [point for n in cells if (point := _point(run, n, column))]
    if len(known) < 2:
        return None
    stairs = _stairs(known, run.metric, more)
    points = [point for point in known if point.number in run.drawn or point in stairs]
    figure = Figure(figsize=(WIDTH, 3.7), layout="constrained")
    axes = figure.subplots()
    for point in points:
        _draw(axes, point, filled=point in stairs)
    # A step is at the best value available at that cost.
    xs, ys, dashes = [p.x for p in stairs], [p.y for p in stairs], (0, (4, 2))
    axes.step(xs, ys, where="pre", color=INK, linewidth=1.1, linestyle=dashes, zorder=1)
    ends = [end for p in points for end in (p.x, *(p.xs or ()))]
    if min(ends) > 0 and max(ends) / min(ends) > FAR:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(NUMBERS)
    axes.margins(0.08, 0.12)
    _baselines(axes, run, points)
    across = f"{label} ({'right' if more else 'left'} is better)"
    worth = "" if run.metric.higher_is_better else " (lower is better)"
    axes.set(xlabel=textwrap.fill(across, ACROSS), ylabel=run.metric_label + worth)
    _label(axes, points, stairs, run, more)
    names = ", ".join(run.short_name(run.rows[p.number]) for p in stairs[:NAMED])
    joined = ", and joined by the dashed line," if stairs[1:] else ""
    about = (
        f"Filled{joined} is the front of the means: {names}. Bars are 95% "
        f"intervals{'' if more else '; memory is measured once, so it has none'}. {run.drawn_note}"
    )
    title = f"{plain(run.metric.label).capitalize()} against {cost}"
    marks = {f"row-{p.number}": run.describe(p.number) for p in points}
    return finish(plot, title, about.rstrip(), figure, marks)


def _point(run: RunReport, number: int, column: str) -> Point | None:
    line, name = run.lines[number], run.metric.name
    x, y = line[column], line[f"{name}_mean"]
    if x is None or y is None:
        return None
    ends: list[Any] = [(line.get(f"{c}_low"), line.get(f"{c}_high")) for c in (column, name)]
    xs, ys = (None if None in pair else pair for pair in ends)
    return Point(number, float(x), float(y), xs, ys)


def _draw(axes: Axes, point: Point, filled: bool) -> None:
    hue = HUES[0] if filled else MUTED
    style: dict[str, Any] = {"color": hue, "linewidth": 1, "alpha": 0.6, "zorder": 2}
    if point.xs is not None:
        axes.hlines(point.y, *point.xs, **style)
    if point.ys is not None:
        axes.vlines(point.x, *point.ys, **style)
    look: dict[str, Any] = {"color": hue, "markerfacecolor": hue if filled else PAPER}
    axes.plot(point.x, point.y, "o", markersize=6, zorder=3, gid=f"row-{point.number}", **look)


def _stairs(
    points: Sequence[Point], metric: MetricDescription, more_is_better: bool
) -> list[Point]:
    """The points whose means no other point beats on both axes, the best value first."""
    sign = -1 if more_is_better else 1
    stairs: list[Point] = []
    for point in sorted(points, key=lambda p: (-metric.better(p.y), sign * p.x)):
        if not stairs or sign * point.x < sign * stairs[-1].x:
            stairs.append(point)
    return stairs


def _label(
    axes: Axes, points: Sequence[Point], stairs: list[Point], run: RunReport, more: bool
) -> None:
    """Name the reference and the front, each at the first corner of its point that has room.

    A name without room is left out: the caption has it.
    """
    reference = [p for p in points if run.rows[p.number].name == run.reference]
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.set_layout_engine("none")  # labels must not change the layout
    inside = axes.get_window_extent()
    names: list[Bbox] = []
    for point in list(dict.fromkeys(reference + stairs))[:NAMED]:
        text, line = run.short_name(run.rows[point.number], LABEL), {"arrowstyle": "-", "lw": 0.5}
        place: Any = {"xytext": (OFF, OFF), "textcoords": "offset points", "zorder": 5}
        label = axes.annotate(text, (point.x, point.y), fontsize=SMALL, arrowprops=line, **place)
        # First on the side where no point is better both ways.
        for side, up in itertools.product((1, -1) if more else (-1, 1), (1, -1)):
            label.xyann = side * OFF, up * OFF
            label.set(ha="left" if side > 0 else "right", va="bottom" if up > 0 else "top")
            label.update_positions(renderer)
            box = Text.get_window_extent(label, renderer)  # without the line to the point
            if inside.x0 <= box.x0 and box.x1 <= inside.x1 and not box.count_overlaps(names):
                names.append(box)
                break
        else:
            label.remove()


def _baselines(axes: Axes, run: RunReport, points: Sequence[Point]) -> None:
    """Dotted lines at baselines and at chance, named above the axes; an arrow if one is far."""
    ends = [end for p in points for end in (p.y, *(p.ys or ()))]
    room = SEEN * max(max(ends) - min(ends), 0.01)
    rows = [(n, run.short_name(row, LABEL)) for n, row in enumerate(run.rows) if row.baseline]
    scores = [(run.lines[n][f"{run.metric.name}_mean"], name) for n, name in rows]
    names = []
    for value, name in [*scores, (run.chance, "chance")]:
        if value is None:
            continue
        arrow = " ↑" if value > max(ends) + room else " ↓" if value < min(ends) - room else ""
        names.append(f"{name}: {run.metric.format(value)}{arrow}")
        if not arrow:
            axes.axhline(value, color=MUTED, linewidth=0.9, linestyle=":", zorder=1)
    place: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": "bottom"}
    axes.text(1, 1.01, "\n".join(names), color=MUTED, fontsize=SMALL, **place)
