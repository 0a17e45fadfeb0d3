"""The ranking metric against cost: points with their intervals, and the Pareto front."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation, Text
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter
from matplotlib.transforms import Bbox

from zoo.config.metric_description import MetricDescription
from zoo.report.plots.plot import HUES, INK, MARKERS, MUTED, PAPER, SMALL, WIDTH, Plot, finish
from zoo.report.rows import Row
from zoo.report.run_report import RunReport
from zoo.report.tables.text import plain

NAMED = 6  # labels at most; the reference comes first
CROWD = 30  # with more points, those not on the front are drawn fainter
FAR = 3.0  # largest over smallest value from which on a scale is logarithmic
ACROSS = 48  # characters of an axis label in one line
LONGEST = 20  # characters of a name in the legend
LINE = 0.17  # inches: of the legend
TEXT = 0.1  # height of a line of text, as a share of the range of values
SEEN = 1.5  # a baseline farther away than this many heights of the cells is named at the edge
# Offsets of a label from its point, in points, the most readable ones first.
OFFSETS = [
    offset
    for far in (7, 14, 24, 36, 52, 70)
    for offset in ((far, far), (far, -far), (-far, far), (-far, -far), (0, far), (0, -far))
]
MARK = 16.0  # points that a label moves away to cover one mark less
Style = Callable[[Row], tuple[str, str]]  # colour and marker


@dataclass(frozen=True)
class Point:
    """One cell in the plot; intervals are None where there are none."""

    number: int
    x: float
    y: float
    xs: tuple[float, float] | None
    ys: tuple[float, float] | None
    on_front: bool


def front_plots(run: RunReport) -> list[Plot]:
    """Metric against speed, and against memory, if there are two cells to show."""
    base = next((line for line in run.lines if line["train_ratio"] == 1.0), None)
    ratios = sum(line["train_ratio"] is not None for line in run.lines)
    speeds = sum(line["train_tokens_per_s"] is not None for line in run.lines)
    if ratios >= min(2, speeds) and run.reference in run.position:
        named = run.short_name(run.rows[run.position[run.reference]], 24)
        speed, label = "train_ratio", f"training speed, × that of {named}"
        if base:
            label += f", which does {base['train_tokens_per_s']:,.0f} tokens/s"
    else:
        speed, label = "train_tokens_per_s", "training speed, tokens/s"
    memory = "peak memory in training, MiB"
    plots = (
        _front_plot(run, "pareto-speed", speed, label, "training speed"),
        _front_plot(run, "pareto-memory", "peak_memory_mib", memory, "memory"),
    )
    return [plot for plot in plots if plot]


def _front_plot(run: RunReport, plot: str, column: str, label: str, cost: str) -> Plot | None:
    """column: of the table, with ``_low`` and ``_high`` its interval; less memory is better."""
    more = cost != "memory"
    found = (_point(run, n, column) for n, row in enumerate(run.rows) if not row.baseline)
    known = [point for point in found if point]
    if len(known) < 2:
        return None
    drawn = set(run.drawn)
    best = {point.number for point in _stairs(known, run.metric, more)}
    points = [
        replace(point, on_front=point.number in best)
        for point in known
        if point.number in drawn or point.number in best
    ]
    stairs = _stairs(points, run.metric, more)
    style, columns = _styles(run.axes)
    longest = max(map(len, columns), default=0)
    figure = Figure(figsize=(WIDTH, 3.4 + LINE * longest), layout="constrained")
    axes = figure.subplots()
    marks = {}
    for point in points:
        if point.number in drawn:
            marks[f"row-{point.number}"] = run.describe(point.number)
        _draw(axes, point, *style(run.rows[point.number]), crowd=len(points) > CROWD)
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
    _label(axes, points, stairs, run)
    title = f"{plain(run.metric.label).capitalize()} against {cost}"
    return finish(plot, title, _about(run, points, stairs, more), figure, marks)


def _scale(axes: Axes, ends: Sequence[float]) -> None:
    if min(ends) > 0 and max(ends) / min(ends) > FAR:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.margins(0.08, 0.12)


def _legend(figure: Figure, columns: Sequence[list[Line2D]], longest: int) -> None:
    blank = Line2D([], [], linestyle="none", label=" ")
    entries = [one for c in columns for one in [*c, *[blank] * (longest - len(c))]]
    legend = figure.legend(
        handles=entries, loc="outside lower center", ncols=len(columns), handletextpad=0.3
    )
    for heading in legend.get_texts()[::longest]:  # the names of the axes
        heading.set_fontweight("bold")


def _about(run: RunReport, points: Sequence[Point], stairs: Sequence[Point], more: bool) -> str:
    across = "horizontally there is none" if more else "memory is measured once, so it has none"
    if any(p.xs for p in points):
        across = "horizontal, of the ratio in the same blocks"
    front = "The dashed line is the front of the means"
    if not stairs[1:]:
        front = "Best in both means, significant or not"
    names = ", ".join(run.short_name(run.rows[p.number]) for p in stairs[:NAMED])
    return (
        f"{front}: {names}. Bars are 95% intervals: "
        f"vertical, of the mean over seeds; {across}."
        f"{f' {run.drawn_note} So are all cells on that front.' if run.drawn_note else ''}"
    )


def _point(run: RunReport, number: int, column: str) -> Point | None:
    line, name = run.lines[number], run.metric.name
    x, y = line[column], line[f"{name}_mean"]
    if x is None or y is None:
        return None
    ends: list[Any] = [(line.get(f"{c}_low"), line.get(f"{c}_high")) for c in (column, name)]
    xs, ys = (None if None in pair else pair for pair in ends)
    return Point(number, float(x), float(y), xs, ys, on_front=False)


def _draw(axes: Axes, point: Point, hue: str, marker: str, crowd: bool) -> None:
    faint = 0.25 if crowd and not point.on_front else 0.6
    for ends, line in ((point.xs, axes.hlines), (point.ys, axes.vlines)):
        if ends is not None:
            across = point.y if line == axes.hlines else point.x
            line(across, *ends, color=hue, linewidth=1, alpha=faint, zorder=2)
    axes.plot(
        point.x,
        point.y,
        marker,
        markersize=6.5 if point.on_front else 5.5,
        markeredgecolor=hue,
        markerfacecolor=hue if point.on_front else PAPER,
        alpha=0.55 if crowd and not point.on_front else 1.0,
        zorder=4 if point.on_front else 3,
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


def _label(axes: Axes, points: Sequence[Point], stairs: list[Point], run: RunReport) -> None:
    """Name the reference and the front, first the points that are on it with ties counted.

    A name is next to its point, away from other names and if possible from marks. One that has no
    room is left out.
    """
    sure = [p for p in points if p.on_front]
    alone = [p for p in points if run.rows[p.number].name == run.reference]
    wanted = alone + [p for p in stairs if p in sure] + stairs + sure
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    # One for all: making one takes milliseconds.
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.set_layout_engine("none")  # labels must not change the layout
    pixels = axes.transData.transform([(p.x, p.y) for p in points])
    taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in pixels]
    if len(points) <= CROWD:
        bars = [((p.xs[0], p.y), (p.xs[1], p.y)) for p in points if p.xs]
        bars += [((p.x, p.ys[0]), (p.x, p.ys[1])) for p in points if p.ys]
        taken += [Bbox(axes.transData.transform(ends)).padded(1) for ends in bars]
    inside = axes.get_window_extent().padded(0.5)
    names = [text.get_window_extent() for text in axes.texts]
    for point in list(dict.fromkeys(wanted))[:NAMED]:
        label = axes.annotate(
            run.short_name(run.rows[point.number], 32),
            (point.x, point.y),
            xytext=OFFSETS[0],
            textcoords="offset points",
            fontsize=SMALL,
            bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3},
        )
        free: list[tuple[float, int, Bbox]] = []  # cost, place, extent
        for place in range(len(OFFSETS)):
            box = _moved(label, place, renderer)
            whole = all(inside.fully_contains(*corner) for corner in (box.p0, box.p1))
            if whole and not box.padded(2).count_overlaps(names):
                cost = MARK * box.count_overlaps(taken) + math.hypot(*OFFSETS[place])
                free.append((cost, place, box))
        if free:
            _, place, box = min(free, key=lambda one: one[:2])
            _moved(label, place, renderer)
            names.append(box)
        else:
            label.remove()


def _moved(label: Annotation, place: int, renderer: RendererAgg) -> Bbox:
    """The extent of a label at one of OFFSETS, without the line to its point."""
    dx, dy = OFFSETS[place]
    label.xyann = (dx, dy)
    label.set(ha="left" if dx > 0 else "right" if dx < 0 else "center")
    label.set(va="bottom" if dy > 0 else "top")
    label.update_positions(renderer)
    return Text.get_window_extent(label, renderer)


def _baselines(axes: Axes, run: RunReport, points: Sequence[Point]) -> None:
    """A line at each baseline's value and at chance; those far away are named above the axes.

    Lines that are closer than their names are high share one text, above the highest of them.
    """
    ends = [end for p in points for end in (p.y, *(p.ys or ()))]
    low, high = min(ends), max(ends)
    height = max(high - low, 0.01)
    levels = [
        (run.short_name(row, 32), line[f"{run.metric.name}_mean"])
        for row, line in zip(run.rows, run.lines, strict=True)
        if row.baseline
    ]
    known = [
        (value, name) for name, value in [*levels, ("chance", run.chance)] if value is not None
    ]
    near = [(v, n) for v, n in known if low - SEEN * height <= v <= high + SEEN * height]
    far = [(v, n) for v, n in known if (v, n) not in near]
    edge = [f"{n}: {run.metric.format(v)} {'↑' if v > high else '↓'}" for v, n in far]
    if edge:
        place: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": "bottom"}
        axes.text(1, 1, "\n".join(edge), color=MUTED, **place)
    shown = [low, high, *(value for value, _ in near)]
    one_line = TEXT * (max(shown) - min(shown) or height)
    texts: list[tuple[float, list[str]]] = []  # of the highest line, and its names from the top
    for value, name in sorted(near):
        axes.axhline(value, color=MUTED, linewidth=0.9, linestyle=":", zorder=1)
        text = f"{name}: {run.metric.format(value)}"
        if texts and value < texts[-1][0] + one_line * len(texts[-1][1]):
            texts[-1] = value, [text, *texts[-1][1]]
        else:
            texts.append((value, [text]))
    across = axes.get_yaxis_transform()
    for value, names in texts:
        joined = "\n".join(names)
        axes.text(1, value, joined, transform=across, ha="right", va="bottom", color=MUTED)


def _styles(axes: Mapping[str, Sequence[str]]) -> tuple[Style, list[list[Line2D]]]:
    """The colour and marker of a cell, and the columns of the legend: an axis, then its choices.

    The first axis that varies has the colour, and the second the marker. Where there are more
    choices than colours or markers, both show the first axis. An axis of more choices than both
    together can show is left out.
    """
    names = [axis for axis in axes if len(axes[axis]) <= len(HUES) * len(MARKERS)][:2]
    if len(names) == 2 and (len(axes[names[0]]) > len(HUES) or len(axes[names[1]]) > len(MARKERS)):
        names = names[:1]
    first: dict[str, tuple[str, str]] = {}
    second: dict[str, str] = {}
    if names:
        for number, choice in enumerate(axes[names[0]]):
            turn, hue = divmod(number, len(HUES))
            first[choice] = HUES[hue], MARKERS[turn % len(MARKERS)]
    if names[1:]:
        second = dict(zip(axes[names[1]], MARKERS, strict=False))
    shown = [first, {choice: (MUTED, marker) for choice, marker in second.items()}]

    def of(row: Row) -> tuple[str, str]:
        hue, marker = first[row.cell[names[0]]] if names else (HUES[0], MARKERS[0])
        return hue, second[row.cell[names[1]]] if second else marker

    return of, [
        [
            Line2D([], [], color=hue, marker=marker, linestyle="none", label=plain(text, LONGEST))
            for text, (hue, marker) in {name: ("none", "none"), **styles}.items()
        ]
        for name, styles in zip(names, shown, strict=False)
    ]
