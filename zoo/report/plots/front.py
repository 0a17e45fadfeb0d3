"""The score against what it costs: points with their intervals, and the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from zoo.report.plots.labels import place_labels
from zoo.report.plots.markers import Looks
from zoo.report.plots.plot import Plot, finish
from zoo.report.plots.style import INK, MUTED, PAPER, WIDTH
from zoo.report.tables.report_data import Facts
from zoo.report.tables.text import plain
from zoo.tasks.score import Score

NAMED = 8  # labels; the reference always has one
CROWD = 30  # more points than these are drawn fainter, save those on the front
FAR = 3.0  # from here on a scale is logarithmic: largest over smallest
ONE_LINE = 16  # characters of a name up to which an axis is told in one line
SEEN = 1.5  # a baseline farther off than so many heights of the cells is told at the edge


@dataclass(frozen=True)
class Cost:
    """What a row is held against: a column of the table and which way it is better."""

    name: str
    column: str
    low: str
    high: str
    standing: str
    label: str
    more_is_better: bool
    title: str


@dataclass(frozen=True)
class Point:
    """One cell in the plot; intervals are None where there are none."""

    number: int
    x: float
    y: float
    xs: tuple[float, float] | None
    ys: tuple[float, float] | None
    standing: str


def front_plots(facts: Facts) -> list[Plot]:
    """Score against speed, and against memory; those for which there are two cells to show."""
    base = next((line for line in facts.lines if line["train_ratio"] == 1.0), None)
    ratios = sum(line["train_ratio"] is not None for line in facts.lines)
    speeds = sum(line["train_tokens_per_s"] is not None for line in facts.lines)
    if ratios >= min(2, speeds) and facts.reference in facts.number:
        named = plain(facts.short(facts.rows[facts.number[facts.reference]]), 24)
        label = f"training speed, × that of {named}"
        if base:
            split = "\n" if len(named) > ONE_LINE else " "
            label += f",{split}which makes {base['train_tokens_per_s']:,.0f} tokens/s"
        speed = ("train_ratio", "train_ratio_low", "train_ratio_high", "pareto_speed", label)
    else:
        label = "training speed, tokens/s"
        speed = ("train_tokens_per_s", "", "", "pareto_speed", label)
    memory = ("peak_memory_mib", "", "", "pareto_memory", "peak memory in training, MiB")
    name = plain(facts.score.label).capitalize()
    costs = [
        Cost("pareto-speed", *speed, True, f"{name} against training speed"),
        Cost("pareto-memory", *memory, False, f"{name} against memory"),
    ]
    return [plot for cost in costs if (plot := _front_plot(facts, cost))]


def _front_plot(facts: Facts, cost: Cost) -> Plot | None:
    points = [
        p for n, row in enumerate(facts.rows) if not row.baseline and (p := _point(facts, n, cost))
    ]
    if len(points) < 2:
        return None
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    axes = figure.subplots()
    looks, marks = Looks(facts.axes), {}
    for point in points:
        marks[f"row-{point.number}"] = facts.told(point.number)
        _draw(axes, point, looks, facts, crowd=len(points) > CROWD)
    stairs = _stairs(points, facts.score, cost.more_is_better)
    _draw_stairs(axes, stairs)
    _scale(axes, points)
    _baselines(axes, facts, points)
    axes.set_xlabel(f"{cost.label} ({'right' if cost.more_is_better else 'left'} is better)")
    axes.set_ylabel(facts.scale + ("" if facts.score.higher_is_better else " (lower is better)"))
    _legend(figure, looks)
    _name(axes, points, stairs, facts)
    return finish(cost.name, cost.title, _about(cost, points, stairs, facts), figure, marks)


def _point(facts: Facts, number: int, cost: Cost) -> Point | None:
    line = facts.lines[number]
    name = facts.score.name
    x, y = line[cost.column], line[f"{name}_mean"]
    if x is None or y is None:
        return None
    low, high = line.get(cost.low), line.get(cost.high)
    bottom, top = line[f"{name}_low"], line[f"{name}_high"]
    return Point(
        number,
        float(x),
        float(y),
        None if low is None or high is None else (low, high),
        None if bottom is None or top is None else (bottom, top),
        line[cost.standing],
    )


def _draw(axes: Axes, point: Point, looks: Looks, facts: Facts, crowd: bool) -> None:
    look, on_front = looks.of(facts.rows[point.number]), point.standing == "front"
    faint = 0.25 if crowd and not on_front else 0.6
    for ends, line in ((point.xs, axes.hlines), (point.ys, axes.vlines)):
        if ends is not None:
            across = point.y if line == axes.hlines else point.x
            line(across, *ends, color=look.hue, linewidth=1, alpha=faint, zorder=2)
    axes.plot(
        point.x,
        point.y,
        look.marker,
        markersize=6.5 if on_front else 5.5,
        markeredgecolor=look.hue,
        markerfacecolor=look.hue if on_front else PAPER,
        alpha=0.55 if crowd and not on_front else 1.0,
        zorder=4 if on_front else 3,
        gid=f"row-{point.number}",
    )


def _stairs(points: Sequence[Point], score: Score, more_is_better: bool) -> list[Point]:
    """The points that none beats on both means, the best score first."""
    sign = -1 if more_is_better else 1
    stairs: list[Point] = []
    for point in sorted(points, key=lambda p: (-score.better(p.y), sign * p.x)):
        if not stairs or sign * point.x < sign * stairs[-1].x:
            stairs.append(point)
    return stairs


def _draw_stairs(axes: Axes, stairs: Sequence[Point]) -> None:
    # A step is at the score that is still to be had at that cost.
    xs, ys = [p.x for p in stairs], [p.y for p in stairs]
    axes.step(xs, ys, where="pre", color=INK, linewidth=1.1, linestyle=(0, (4, 2)), zorder=1)


def _name(axes: Axes, points: Sequence[Point], stairs: list[Point], facts: Facts) -> None:
    """Names of the reference and the front, of these first what is on it beyond doubt."""
    sure = [p for p in points if p.standing == "front"]
    alone = [p for p in points if facts.rows[p.number].name == facts.reference]
    wanted = alone + [p for p in stairs if p in sure] + stairs + sure
    bars = [((p.xs[0], p.y), (p.xs[1], p.y)) for p in points if p.xs]
    bars += [((p.x, p.ys[0]), (p.x, p.ys[1])) for p in points if p.ys]
    place_labels(
        axes,
        [((p.x, p.y), facts.label(facts.rows[p.number])) for p in dict.fromkeys(wanted)][:NAMED],
        [(p.x, p.y) for p in points],
        bars if len(points) <= CROWD else (),
    )


def _scale(axes: Axes, points: Sequence[Point]) -> None:
    ends = [end for p in points for end in (p.x, *(p.xs or ()))]
    if min(ends) > 0 and max(ends) / min(ends) > FAR:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.margins(0.08, 0.12)


def _baselines(axes: Axes, facts: Facts, points: Sequence[Point]) -> None:
    """A line at each baseline's score; one that is far off is told at the edge."""
    ends = [end for p in points for end in (p.y, *(p.ys or ()))]
    low, high = min(ends), max(ends)
    height = max(high - low, 0.01)
    for number, row in enumerate(facts.rows):
        score = facts.lines[number][f"{facts.score.name}_mean"]
        if not row.baseline or score is None:
            continue
        name = f"{facts.label(row)}: {facts.score.form.format(score)}"
        if low - SEEN * height <= score <= high + SEEN * height:
            axes.axhline(score, color=MUTED, linewidth=0.9, linestyle=":", zorder=1)
            place, side = (1.0, score), "bottom"
        else:
            name = f"{name} {'↑' if score > high else '↓'}"
            place, side = (1.0, 1.0 if score > high else 0.0), "top" if score > high else "bottom"
        kind = (
            axes.get_yaxis_transform() if side == "bottom" and "↓" not in name else axes.transAxes
        )
        axes.text(*place, name, transform=kind, ha="right", va=side, fontsize=8, color=MUTED)


def _legend(figure: Figure, looks: Looks) -> None:
    if entries := looks.legend():
        legend = figure.legend(handles=entries, loc="outside right upper", handletextpad=0.3)
        for text in legend.get_texts():
            if text.get_text() in looks.axes:
                text.set_fontweight("bold")


def _about(cost: Cost, points: Sequence[Point], stairs: list[Point], facts: Facts) -> str:
    across = (
        "across, that of the ratio in the same rounds"
        if any(p.xs for p in points)
        else "memory is measured once"
        if not cost.more_is_better
        else "no interval across"
    )
    front = "The dashed line is the front of the means" if stairs[1:] else "Best on both means"
    names = ", ".join(facts.short(facts.rows[p.number]) for p in stairs[:NAMED])
    return (
        f"{front}: {names}. Filled markers are on the front with "
        "ties counted as ties: nothing is really better on one count and at least a tie on the "
        f"other. Bars are 95% intervals: upwards, of the mean over seeds; {across}."
    )
