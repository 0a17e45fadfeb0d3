"""The ranking metric against cost: points with their intervals, and the Pareto front."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import Bbox

from zoo.config.metric_description import MetricDescription
from zoo.report.plots.plot import (
    HUES,
    INK,
    MARKERS,
    MUTED,
    NUMBERS,
    PAPER,
    SMALL,
    WIDTH,
    Plot,
    finish,
)
from zoo.report.rows import Row
from zoo.report.run_report import RunReport
from zoo.report.tables.text import plain

NAMED = 6  # labels at most; the reference comes first
CROWD = 30  # with more points, those not on the front are drawn fainter
FAR = 3.0  # largest over smallest value from which on a scale is logarithmic
ACROSS = 48  # characters of an axis label in one line
LONGEST, LABEL = 20, 32  # characters of a name in the legend, and beside its point
LINE = 0.17  # inches: of the legend
SEEN = 0.7  # a baseline farther away than this many heights of the cells has no line
OFF = 12  # points between a label and its point
Style = Callable[[Row], tuple[str, str]]  # colour and marker


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
    rates, ratios = (
        [line[key] for line in run.lines if line[key] is not None]
        for key in ("train_tokens_per_s", "train_ratio")
    )
    speed, label = "train_tokens_per_s", "training speed, tokens/s"
    if base is not None and len(ratios) >= min(2, len(rates)):
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
    stairs, drawn = _stairs(known, run.metric, more), set(run.drawn)
    points = [point for point in known if point.number in drawn or point in stairs]
    style, columns = _styles(run.axes)
    longest = max(map(len, columns), default=0)
    figure = Figure(figsize=(WIDTH, 3.7 + LINE * longest), layout="constrained")
    axes = figure.subplots()
    marks = {}
    for point in points:
        if point.number in drawn:
            marks[f"row-{point.number}"] = run.describe(point.number)
        faint = len(points) > CROWD and point not in stairs
        _draw(axes, point, *style(run.rows[point.number]), filled=point in stairs, faint=faint)
    # A step is at the best value available at that cost.
    xs, ys, dashes = [p.x for p in stairs], [p.y for p in stairs], (0, (4, 2))
    axes.step(xs, ys, where="pre", color=INK, linewidth=1.1, linestyle=dashes, zorder=1)
    _scale(axes, [end for p in points for end in (p.x, *(p.xs or ()))])
    _baselines(axes, run, points)
    across = f"{label} ({'right' if more else 'left'} is better)"
    axes.set_xlabel(textwrap.fill(across, ACROSS))
    axes.set_ylabel(
        run.metric_label + ("" if run.metric.higher_is_better else " (lower is better)")
    )
    if columns:
        _legend(figure, columns, longest)
    _label(axes, points, stairs, run, more)
    title = f"{plain(run.metric.label).capitalize()} against {cost}"
    return finish(plot, title, _about(run, points, stairs, more), figure, marks)


def _scale(axes: Axes, ends: Sequence[float]) -> None:
    if min(ends) > 0 and max(ends) / min(ends) > FAR:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(NUMBERS)
    axes.margins(0.08, 0.12)


def _legend(figure: Figure, columns: Sequence[list[Line2D]], longest: int) -> None:
    blank = Line2D([], [], linestyle="none", label=" ")
    entries = [line for c in columns for line in [*c, *[blank] * (longest - len(c))]]
    legend = figure.legend(
        handles=entries, loc="outside lower center", ncols=len(columns), handletextpad=0.3
    )
    for heading in legend.get_texts()[::longest]:  # the names of the axes
        heading.set_fontweight("bold")


def _about(run: RunReport, points: Sequence[Point], stairs: Sequence[Point], more: bool) -> str:
    across = "horizontally there is none" if more else "memory is measured once, so it has none"
    if any(p.xs for p in points):
        across = "horizontal, of the ratio in the same blocks"
    front = "Filled, and joined by the dashed line, is the front of the means"
    if not stairs[1:]:
        front = "Best in both means, significant or not"
    names = ", ".join(run.short_name(run.rows[p.number]) for p in stairs[:NAMED])
    return (
        f"{front}: {names}. Bars are 95% intervals: vertical, of the mean over seeds; {across}."
        f"{f' {run.drawn_note} So are all cells on that front.' if run.drawn_note else ''}"
    )


def _point(run: RunReport, number: int, column: str) -> Point | None:
    line, name = run.lines[number], run.metric.name
    x, y = line[column], line[f"{name}_mean"]
    if x is None or y is None:
        return None
    ends: list[Any] = [(line.get(f"{c}_low"), line.get(f"{c}_high")) for c in (column, name)]
    xs, ys = (None if None in pair else pair for pair in ends)
    return Point(number, float(x), float(y), xs, ys)


def _draw(axes: Axes, point: Point, hue: str, marker: str, filled: bool, faint: bool) -> None:
    for ends, line in ((point.xs, axes.hlines), (point.ys, axes.vlines)):
        if ends is not None:
            across = point.y if line == axes.hlines else point.x
            line(across, *ends, color=hue, linewidth=1, alpha=0.25 if faint else 0.6, zorder=2)
    axes.plot(
        point.x,
        point.y,
        marker,
        markersize=6.5 if filled else 5.5,
        markeredgecolor=hue,
        markerfacecolor=hue if filled else PAPER,
        alpha=0.55 if faint else 1.0,
        zorder=4 if filled else 3,
        gid=f"row-{point.number}",
    )


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
    """Name the reference and the front, each at a corner of its point.

    The first of four corners that has room is taken, from the side where no point is better both
    ways. A name without room is left out: the caption has it.
    """
    alone = [p for p in points if run.rows[p.number].name == run.reference]
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    # One for all: making one takes milliseconds.
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.set_layout_engine("none")  # labels must not change the layout
    inside = axes.get_window_extent()
    names: list[Bbox] = []
    for point in list(dict.fromkeys(alone + stairs))[:NAMED]:
        label = axes.annotate(
            run.short_name(run.rows[point.number], LABEL),
            (point.x, point.y),
            xytext=(OFF, OFF),
            textcoords="offset points",
            fontsize=SMALL,
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3},
            zorder=5,
        )
        # Above and below, first on the side without points.
        sides = (1, -1) if more else (-1, 1)
        for side, up in itertools.product(sides, (1, -1)):
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
    """A dotted line at each baseline's score and at chance; above the axes what they are.

    One that is far from the cells has no line: an arrow says where it would be.
    """
    ends = [end for p in points for end in (p.y, *(p.ys or ()))]
    low, high = min(ends), max(ends)
    room = SEEN * max(high - low, 0.01)
    scores = [
        (line[f"{run.metric.name}_mean"], run.short_name(row, LABEL))
        for row, line in zip(run.rows, run.lines, strict=True)
        if row.baseline
    ]
    names = []
    for value, name in [*scores, (run.chance, "chance")]:
        if value is None:
            continue
        arrow = " ↑" if value > high + room else " ↓" if value < low - room else ""
        names.append(f"{name}: {run.metric.format(value)}{arrow}")
        if not arrow:
            axes.axhline(value, color=MUTED, linewidth=0.9, linestyle=":", zorder=1)
    place: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": "bottom"}
    axes.text(1, 1.01, "\n".join(names), color=MUTED, fontsize=SMALL, **place)


def _styles(axes: Mapping[str, Sequence[str]]) -> tuple[Style, list[list[Line2D]]]:
    """The colour and marker of a cell, and the columns of the legend: an axis, then its choices.

    The first axis that varies has the colour, and the second the marker. Where there are more
    choices than colours or markers, both show the first axis. An axis of more choices than both
    together can show is left out.
    """
    names = [axis for axis in axes if len(axes[axis]) <= len(HUES) * len(MARKERS)][:2]
    if len(names) == 2 and (len(axes[names[0]]) > len(HUES) or len(axes[names[1]]) > len(MARKERS)):
        names = names[:1]
    looks: list[dict[str, tuple[str, str]]] = []
    if names:
        choices = enumerate(axes[names[0]])
        looks.append({c: (HUES[n % len(HUES)], MARKERS[n // len(HUES)]) for n, c in choices})
    if names[1:]:
        looks.append({c: (MUTED, m) for c, m in zip(axes[names[1]], MARKERS, strict=False)})

    def style_of(row: Row) -> tuple[str, str]:
        of_row = [look[row.cell[name]] for name, look in zip(names, looks, strict=True)]
        return (of_row[0][0], of_row[-1][1]) if of_row else (HUES[0], MARKERS[0])

    return style_of, [
        [
            Line2D([], [], color=hue, marker=marker, linestyle="none", label=plain(text, LONGEST))
            for text, (hue, marker) in {name: ("none", "none"), **look}.items()
        ]
        for name, look in zip(names, looks, strict=True)
    ]
