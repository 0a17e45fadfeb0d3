"""Loss and accuracy of training per epoch, with the spread of seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from numpy.typing import NDArray

from zoo.report.plots.plot import HUES, RULE, WIDTH, Plot, finish
from zoo.report.rows import Row
from zoo.report.run_report import RunReport

NAMED = 6  # cells in colour; the others are grey
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
# What may be in a curve, with its unit.
SHOWN = {"loss": "training loss, nats", "accuracy": "training accuracy, share right"}


def epoch_plots(run: RunReport) -> list[Plot]:
    """One plot with a panel for each quantity in the curves; none where there are no curves."""
    curves = {n: _curves(row) for n, row in enumerate(run.rows) if row.trained}
    shown = [key for key in SHOWN if any(key in found for found in curves.values())]
    curves = {n: found for n, found in curves.items() if found}
    if not shown or max(len(c["number"][0]) for c in curves.values()) < 2:
        return []
    named = _named(run, list(curves))
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    marks = {}
    for place, (key, axes) in enumerate(zip(shown, panels, strict=True)):
        for number in [n for n in curves if n not in named] + named:
            if key not in curves[number]:
                continue
            gid = f"row-{number}-{place}"
            marks[gid] = run.describe(number)
            order = named.index(number) if number in named else None
            _draw(axes, curves[number]["number"][0], curves[number][key], order, gid)
        _scale(axes, key, [c[key] for c in curves.values() if key in c])
        axes.set_xlabel("epoch")
        axes.set_ylabel(SHOWN[key])
    handles = [panels[0].lines[len(panels[0].lines) - len(named) + i] for i in range(len(named))]
    names = [run.short_name(run.rows[n], 32) for n in named]
    columns = min(3 if max(map(len, names)) < 24 else 2, len(named))
    figure.legend(handles, names, loc="outside lower center", ncols=columns)
    about = (
        "Mean over seeds on the training split, during training and so with dropout. The shaded "
        "band is from the lowest to the highest seed."
    )
    if rest := len(curves) - len(named):
        about += f" The reference and the best are in colour; the other {rest} are grey."
    title = f"{' and '.join(shown).capitalize()} per epoch"
    return [finish("epochs", title, about, figure, marks)]


def _curves(row: Row) -> dict[str, NDArray[np.float64]]:
    """Key to values (seeds, epochs), of the epochs that all seeds have."""
    found = [record.curve for record in row.trained.values() if record.curve]
    epochs = min(map(len, found), default=0)
    if not epochs:
        return {}
    keys = [key for key in ("number", *SHOWN) if all(key in step for c in found for step in c)]
    values = {key: np.array([[s[key] for s in c[:epochs]] for c in found], float) for key in keys}
    return values if "number" in values else {}


def _named(run: RunReport, numbers: Sequence[int]) -> list[int]:
    """The reference and the best, in the order of the table."""
    chosen = [n for n in numbers if run.rows[n].name == run.reference]
    chosen += [n for n in numbers if n not in chosen][: NAMED - len(chosen)]
    return sorted(chosen)


def _draw(
    axes: Axes,
    epochs: NDArray[np.float64],
    values: NDArray[np.float64],
    order: int | None,
    gid: str,
) -> None:
    hue, style, width = (RULE, "-", 0.7) if order is None else (HUES[order], LINES[order], 1.5)
    mean = values.mean(axis=0)
    if order is not None and len(values) > 1:
        low, high = values.min(axis=0), values.max(axis=0)
        axes.fill_between(epochs, low, high, color=hue, alpha=0.18, linewidth=0)
    axes.plot(epochs, mean, color=hue, linestyle=style, linewidth=width, gid=gid)


def _scale(axes: Axes, key: str, values: Sequence[NDArray[np.float64]]) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    least, most = min(float(v.min()) for v in values), max(float(v.max()) for v in values)
    if key == "loss" and least > 0 and most / least > 10:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
