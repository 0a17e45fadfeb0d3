"""Time and memory of a step against the axis, both scales logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FixedLocator,
    LogLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)

from zoo.report.plots.plot import HUES, MARKERS, Plot, finish, styled
from zoo.report.tables.scaling_table import COSTS, Curve, axis, curves
from zoo.report.tables.text import plain
from zoo.sweep.records import Record

TITLES = ("training step", "inference step", "training memory", "inference memory")
NAMES = {"length": "length, tokens", "dim": "width", "layers": "layers", "batch": "batch, texts"}
SIZE = 6.4, 5.2  # inches
CROSS: dict[str, Any] = {"marker": "x", "linestyle": "none"}


def scale_plot(records: Sequence[Record]) -> Plot:
    """Four panels with a line for each cell, and a cross where a cell failed."""
    found, over = curves(records), axis(records)
    with styled():
        figure = Figure(figsize=SIZE, layout="constrained")
        panels = figure.subplots(2, 2).ravel()
        marks: dict[str, str] = {}
        for place, (metric, axes) in enumerate(zip(COSTS, panels, strict=True)):
            for number, curve in enumerate(found):
                gid = f"row-{number}-{place}"
                exponent = curve.exponent(metric)
                power = f": {over} to the power of {exponent}" if exponent else ""
                marks[gid] = f"{curve.name}{power}"
                _draw(axes, curve, metric, number, gid)
            _scale(axes, TITLES[place], metric, over, found)
        handles = [
            Line2D([], [], label=plain(curve.name, 30), **_style(number))
            for number, curve in enumerate(found)
        ]
        if any(_failed(curve) for curve in found):
            handles.append(Line2D([], [], label="failed", color="k", **CROSS))
        figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)))
        about = (
            f"Cost of one step of one batch against {NAMES[over]}. Both scales are logarithmic: a "
            "straight line is a power, and its slope the exponent. A cross marks where a cell ran "
            "out of memory or time, at the last cost that was measured."
        )
        return finish("scale", f"How cost grows with {over}", about, figure, marks)


def _draw(axes: Axes, curve: Curve, metric: str, number: int, gid: str) -> None:
    style = _style(number)
    values, costs = curve.points(metric)
    shown = [cost * COSTS[metric][1] for cost in costs]
    axes.plot(values, shown, linewidth=1.3, gid=gid, **style)
    if (stopped := _failed(curve)) and shown:
        axes.plot([stopped], [shown[-1]], color=style["color"], **CROSS)


def _failed(curve: Curve) -> int | None:
    """The value at which the cell failed; None where it did not."""
    bad = [r.config["value"] for r in curve.records if r.status not in ("ok", "skipped")]
    return bad[0] if bad else None


def _scale(axes: Axes, title: str, metric: str, over: str, found: Sequence[Curve]) -> None:
    axes.set_title(title)
    if not any(curve.points(metric)[0] for curve in found):
        axes.set_axis_off()
        note = axes.text(0.5, 0.5, "not measured", ha="center", transform=axes.transAxes)
        note.set_in_layout(False)
        return
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    values = sorted({r.config["value"] for curve in found for r in curve.records})
    axes.xaxis.set_major_locator(FixedLocator(values))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(values, [f"{value:,}" for value in values])
    axes.tick_params(axis="x", labelrotation=45 if len(values) > 4 else 0)
    axes.yaxis.set_major_locator(LogLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(NAMES[over])
    axes.set_ylabel(COSTS[metric][0].split()[-1])


def _style(number: int) -> dict[str, Any]:
    hue, marker = HUES[number % len(HUES)], MARKERS[number % len(MARKERS)]
    return {"color": hue, "marker": marker, "markersize": 4}
