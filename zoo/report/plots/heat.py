"""The grid attention × pe as a heat map: every cell with its value, or why it has none."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from zoo.report.plots.plot import MUTED, PAPER, WIDTH, Plot, finish
from zoo.report.run_report import RunReport
from zoo.report.tables.text import plain

LINE, FRAME = 0.34, 1.5  # inches: of a row, and of axis and title
LONG = 12  # characters of a name from which on titles have two lines
DARK, LIGHT = "#010101", "#fefefe"  # of numbers on a colour, in light and dark mode alike
RATIO = "train_ratio"
Colour = tuple[float, float, float]  # red, green, blue, from 0 to 1
Cells = dict[tuple[str, str], int]


def heat_plots(run: RunReport) -> list[Plot]:
    """One plot with a panel each for metric and speed; none without two choices of each axis."""
    if not {"attention", "pe"} <= set(run.axes):
        return []
    cells, metric = _cells(run), run.metric
    both = (
        (metric.name, f"{metric.name}_mean", run.metric_label, metric.digits),
        (RATIO, RATIO, "training speed, × the reference's", 2),
    )
    panels = [
        panel
        for panel in both
        if sum(run.lines[n][panel[1]] is not None for n in cells.values()) > 1
    ]
    if not panels:
        return []
    attention, pe = run.axes["attention"], run.axes["pe"]
    figure = Figure(figsize=(WIDTH, FRAME + LINE * len(attention)), layout="constrained")
    columns = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    marks: dict[str, str] = {}
    for place, (axes, (column, mean, label, digits)) in enumerate(
        zip(columns, panels, strict=True)
    ):
        values = {at: run.lines[number][mean] for at, number in cells.items()}
        known = [float(value) for value in values.values() if value is not None]
        width = _width(run, list(cells.values()), column)
        scale = _scale(known, width, 1 if column == RATIO else metric.direction)
        for x, one in enumerate(pe):
            for y, other in enumerate(attention):
                number = cells.get((other, one))
                gid, status, value = "", "not run", values.get((other, one))
                if number is not None:
                    gid, status = f"row-{number}-{place}", str(run.lines[number]["status"])
                    marks[gid] = run.describe(number)
                text = f"{value:.{digits}f}" if value is not None else status.replace("ok", "")
                draw_cell(axes, x, y, scale(value) if value is not None else None, text, gid)
        # Long names leave less room for the title.
        long = max(map(len, attention)) > LONG
        _frame(axes, attention, pe, label.replace(", ", ",\n") if long else label)
    columns[0].set_ylabel("attention")
    rest = [axis for axis in run.axes if axis not in ("attention", "pe")]
    about = "Lighter is better. A hatched cell has no value and states why."
    if rest:
        about += f" With {', '.join(rest)} as in the reference."
    return [finish("grid", "Attention and positional encoding", about, figure, marks)]


def _cells(run: RunReport) -> Cells:
    """Attention and pe to the row, with the other axes as in the reference."""
    base = {
        axis: choices[0] for axis, choices in run.axes.items() if axis not in ("attention", "pe")
    }
    return {
        (row.cell["attention"], row.cell["pe"]): number
        for number, row in enumerate(run.rows)
        if not row.baseline and all(row.cell[axis] == choice for axis, choice in base.items())
    }


def _width(run: RunReport, numbers: list[int], column: str) -> float:
    """The median width of the intervals in a column; 0 where there are none."""
    ends = [(run.lines[n][f"{column}_low"], run.lines[n][f"{column}_high"]) for n in numbers]
    widths = [float(high - low) for low, high in ends if low is not None]
    return statistics.median(widths) if widths else 0.0


def _scale(known: list[float], width: float, direction: int) -> Callable[[float], Colour]:
    """Value to a colour between dark blue and yellow, whose order survives grey print.

    The scale spans at least twice an interval's width, so that ties have nearly one colour.
    """
    colours, middle = colormaps["cividis"], (min(known) + max(known)) / 2
    span = max(max(known) - min(known), 2 * width)

    def colour(value: float) -> Colour:
        red, green, blue, _ = colours(0.5 + direction * (value - middle) / span if span else 0.5)
        return red, green, blue

    return colour


def draw_cell(axes: Axes, x: int, y: int, colour: Colour | None, text: str, gid: str) -> None:
    """One square of a heat map at (x, y) with its text; hatched where it has no colour."""
    square = Rectangle((x - 0.5, y - 0.5), 1, 1, linewidth=1.5, edgecolor=PAPER)
    square.set_facecolor(colour or "none")
    if colour is None:
        square.set(hatch="///", edgecolor=MUTED, linewidth=0.3)
    if gid:
        square.set_gid(gid)
    axes.add_patch(square)
    ink = MUTED
    if colour is not None:
        red, green, blue = colour
        ink = DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else LIGHT
    small = 8 if len(text) < 7 else 6.5
    back = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0} if colour is None else None
    axes.text(x, y, text, ha="center", va="center", color=ink, fontsize=small, bbox=back)


def _frame(axes: Axes, attention: Sequence[str], pe: Sequence[str], label: str) -> None:
    axes.set_xlim(-0.5, len(pe) - 0.5)
    axes.set_ylim(len(attention) - 0.5, -0.5)
    names = [plain(name, 16) for name in pe]
    axes.set_xticks(range(len(pe)), names)
    if sum(map(len, names)) > 30:
        for tick in axes.get_xticklabels():
            tick.set(rotation=30, ha="right")
    axes.set_yticks(range(len(attention)), [plain(name, 24) for name in attention])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_title(label)
    axes.set_xlabel("pe")
