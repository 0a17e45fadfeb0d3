"""Loss and accuracy of training per epoch, with the spread of seeds and the score at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from numpy.typing import NDArray

from zoo.report.plots.plot import HUES, PAPER, RULE, WIDTH, Plot, finish
from zoo.report.rows import Row
from zoo.report.run_report import RunReport
from zoo.report.tables.text import plain

NAMED = 6  # cells in colour; the others are grey
HEIGHT, LINE = 2.1, 0.17  # inches: of a panel, and of a line of the legend
NAME, LONGEST = 22, 46  # characters of a name in the legend, and of one that stands for several
CLOSE = 0.01  # lines closer than this share of the panel's height lie on each other
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
# What may be in a curve, with its unit, and the metrics of held-out texts that measure the same.
SHOWN = {"loss": "loss, nats", "accuracy": "accuracy, share right"}
HELD_OUT = {"loss": ("nats_per_token",), "accuracy": ("accuracy", "token_accuracy")}
Curve = dict[str, NDArray[np.float64]]  # key to values (seeds, epochs)


def epoch_plots(run: RunReport) -> list[Plot]:
    """One plot with a panel for each quantity in the curves; none where there are no curves."""
    curves = {n: _curve(row) for n, row in enumerate(run.rows) if row.trained}
    shown = [key for key in SHOWN if any(key in found for found in curves.values())]
    curves = {n: found for n, found in curves.items() if found}
    if not shown or max(len(c["number"][0]) for c in curves.values()) < 2:
        return []
    named = _named(run, list(curves))
    groups = _same_lines([(n, curves[n]) for n in named], shown)
    order = {n: place for place, group in enumerate(groups) for n in group}
    handles, names = _legend(run, groups)
    columns = 2 if max(map(len, names)) <= NAME else 1
    height = HEIGHT * len(shown) + LINE * (len(names) / columns + 1)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    panels = figure.subplots(len(shown), squeeze=False, sharex=True)[:, 0]
    marks = {}
    for place, (key, axes) in enumerate(zip(shown, panels, strict=True)):
        for number in [n for n in curves if n not in named] + named:
            if key not in curves[number]:
                continue
            gid = f"row-{number}-{place}"
            marks[gid] = run.describe(number)
            _draw(axes, curves[number], key, order.get(number), gid)
            if number in order and (score := _held_out(run.rows[number], key)) is not None:
                last, hue = curves[number]["number"][0][-1], HUES[order[number]]
                axes.plot(last, score, "o", markersize=5, color=hue, markerfacecolor=PAPER)
        _scale(axes, key, [c[key] for c in curves.values() if key in c])
        axes.set_ylabel(SHOWN[key])
    panels[-1].set_xlabel("epoch")
    figure.legend(handles, names, loc="outside lower center", ncols=columns)
    about = _about(run, curves, groups, shown)
    title = f"{' and '.join(shown).capitalize()} per epoch"
    return [finish("epochs", title, about, figure, marks)]


def _about(
    run: RunReport, curves: dict[int, Curve], groups: list[list[int]], shown: list[str]
) -> str:
    about = (
        "Lines: mean over seeds on the training split, during training and so with dropout. The "
        "shaded band is from the lowest to the highest seed."
    )
    if any(
        f"validation_{name}" in c for c in curves.values() for k in shown for name in HELD_OUT[k]
    ):
        about += " Dotted lines with crosses: on the texts held out for validation."
    if any(_held_out(run.rows[n], key) is not None for n in curves for key in shown):
        about += " Circles: the score of the trained models, on texts not trained on."
    if together := [", ".join(run.short_name(run.rows[n]) for n in g) for g in groups if g[1:]]:
        about += f" Lines that lie on each other: {'; '.join(together)}."
    if rest := len(curves) - sum(map(len, groups)):
        about += f" The reference and the best are in colour; the other {rest} are grey."
    return about


def _curve(row: Row) -> Curve:
    """Of the epochs that all seeds have; empty where there are none."""
    found = [record.curve for record in row.trained.values() if record.curve]
    epochs = min(map(len, found), default=0)
    if not epochs:
        return {}
    wanted = ["number", *SHOWN, *(f"validation_{name}" for key in SHOWN for name in HELD_OUT[key])]
    keys = [key for key in wanted if all(key in step for c in found for step in c)]
    values = {key: np.array([[s[key] for s in c[:epochs]] for c in found], float) for key in keys}
    return values if "number" in values else {}


def _held_out(row: Row, key: str) -> float | None:
    """The mean over seeds of the score at the end that measures the same as a curve."""
    found = (list(row.values_of(name).values()) for name in HELD_OUT[key])
    return next((float(np.mean(values)) for values in found if values), None)


def _named(run: RunReport, numbers: Sequence[int]) -> list[int]:
    """The reference and the best, in the order of the table."""
    chosen = [n for n in numbers if run.rows[n].name == run.reference]
    chosen += [n for n in numbers if n not in chosen][: NAMED - len(chosen)]
    return sorted(chosen)


def _same_lines(curves: Sequence[tuple[int, Curve]], shown: Sequence[str]) -> list[list[int]]:
    """Rows whose lines a reader cannot tell apart, as they are closer than a line is wide."""
    spans = {key: float(np.ptp([_heights(c, key) for _, c in curves if key in c])) for key in shown}
    groups: list[list[tuple[int, Curve]]] = []
    for number, curve in curves:
        for group in groups:
            first = group[0][1]
            if all(
                key in curve
                and key in first
                and len(_heights(curve, key)) == len(_heights(first, key))
                and np.ptp([_heights(curve, key), _heights(first, key)], axis=0).max()
                <= CLOSE * spans[key]
                for key in shown
            ):
                group.append((number, curve))
                break
        else:
            groups.append([(number, curve)])
    return [[number for number, _ in group] for group in groups]


def _heights(curve: Curve, key: str) -> NDArray[np.float64]:
    """The mean over seeds as it is drawn; a loss over wide ranges has a logarithmic scale."""
    mean: NDArray[np.float64] = curve[key].mean(axis=0)
    if key == "loss" and (mean > 0).all():
        mean = np.log(mean)
    return mean


def _legend(run: RunReport, groups: Sequence[Sequence[int]]) -> tuple[list[Line2D], list[str]]:
    handles, names = [], []
    for place, group in enumerate(groups):
        handles.append(Line2D([], [], color=HUES[place], linestyle=LINES[place], linewidth=1.5))
        one_line = " = ".join(run.short_name(run.rows[n], NAME) for n in group)
        names.append(plain(one_line, LONGEST))
    return handles, names


def _draw(axes: Axes, curve: Curve, key: str, order: int | None, gid: str) -> None:
    hue, style, width = (RULE, "-", 0.7) if order is None else (HUES[order], LINES[order], 1.5)
    epochs, values = curve["number"][0], curve[key]
    if order is not None and len(values) > 1:
        low, high = values.min(axis=0), values.max(axis=0)
        axes.fill_between(epochs, low, high, color=hue, alpha=0.18, linewidth=0)
    axes.plot(epochs, values.mean(axis=0), color=hue, linestyle=style, linewidth=width, gid=gid)
    for name in HELD_OUT[key]:
        if order is not None and (found := curve.get(f"validation_{name}")) is not None:
            mean = found.mean(axis=0)
            axes.plot(epochs, mean, ":x", color=hue, linewidth=1.2, markersize=4)


def _scale(axes: Axes, key: str, values: Sequence[NDArray[np.float64]]) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    least, most = min(float(v.min()) for v in values), max(float(v.max()) for v in values)
    if key == "loss" and least > 0 and most / least > 10:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
