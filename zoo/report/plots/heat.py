"""The grid attention × pe as a heat map: every cell with its value, or why it has none."""

from __future__ import annotations

import itertools
import statistics
import textwrap
from collections.abc import Callable, Sequence

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from zoo.report.plots.plot import INK, MUTED, PAPER, SMALL, WIDTH, Plot, finish, turn_long_labels
from zoo.report.run_report import RunReport
from zoo.report.tables.text import plain

LINE, FRAME = 0.3, 0.75  # inches: of a row, and of an axis with its labels and title
COLUMN, LETTER = 0.62, 0.08  # inches: of a column at least, and of a letter
NAME = 15  # characters of a choice
PALE = 0.22  # opacity of colours whose differences are ties
DARK, LIGHT = "#010101", "#fefefe"  # of numbers on a colour, in light and dark mode alike
EQUAL = 0.18  # the luminance of a colour on which both have the same contrast
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
    turned = len(pe) > len(attention)  # the axis with fewer choices goes across
    down, across = (
        [plain(c, NAME) for c in one] for one in ((attention, pe)[:: -1 if turned else 1])
    )
    width = LETTER * (max(map(len, down)) + 1.5) + COLUMN * len(across)
    height = FRAME + LINE * len(down) + LETTER * 0.7 * max(map(len, across))
    figure = Figure(figsize=(max(WIDTH, width), len(panels) * height), layout="constrained")
    grids = figure.subplots(len(panels), squeeze=False)[:, 0]
    marks: dict[str, str] = {}
    ties = []
    for place, (axes, (column, mean, label, digits)) in enumerate(zip(grids, panels, strict=True)):
        values = {at: run.lines[number][mean] for at, number in cells.items()}
        known = [float(value) for value in values.values() if value is not None]
        interval = _width(run, list(cells.values()), column)
        scale = _scale(known, interval, 1 if column == RATIO else metric.direction)
        if pale := not _any_difference(run, list(cells.values()), column):
            ties.append(label.partition(",")[0])
        for x, one in enumerate(pe):
            for y, other in enumerate(attention):
                number = cells.get((other, one))
                gid, status, value = "", "not run", values.get((other, one))
                if number is not None:
                    gid, status = f"row-{number}-{place}", str(run.lines[number]["status"])
                    marks[gid] = run.describe(number)
                text = f"{value:.{digits}f}" if value is not None else status.replace("ok", "")
                colour = None if value is None else scale(value)
                draw_cell(axes, *((y, x) if turned else (x, y)), colour, text, gid, pale)
        _frame(axes, down, across, label)
    rest = [axis for axis in run.axes if axis not in ("attention", "pe")]
    about = "Lighter is better. A hatched cell has no value and states why."
    if ties:
        about += f" Pale: no two cells differ significantly in {' or '.join(ties)}."
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


def _any_difference(run: RunReport, numbers: list[int], column: str) -> bool:
    """Whether two of these rows differ significantly, or a speed from the reference's.

    True where nothing was tested: then it is unknown.
    """
    names = [run.rows[n].name for n in numbers]
    if column == RATIO:
        known = [run.lines[n]["train_tie"] for n in numbers]
        verdicts = [None if tie is None else int(not tie) for tie in known]
    else:
        verdicts = [run.verdicts.verdict(*pair) for pair in itertools.combinations(names, 2)]
    return any(verdicts) or all(verdict is None for verdict in verdicts)


def draw_cell(
    axes: Axes, x: int, y: int, colour: Colour | None, text: str, gid: str, pale: bool = False
) -> None:
    """One square of a heat map at (x, y) with its text; hatched where it has no colour."""
    square = Rectangle((x - 0.5, y - 0.5), 1, 1, linewidth=1.5, edgecolor=PAPER)
    square.set_facecolor("none" if colour is None else (*colour, PALE if pale else 1.0))
    if colour is None:
        square.set(hatch="///", edgecolor=MUTED, linewidth=0.3)
    if gid:
        square.set_gid(gid)
    axes.add_patch(square)
    ink = MUTED
    if colour is not None:
        ink = INK if pale else DARK if _luminance(colour) > EQUAL else LIGHT
    back = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0} if colour is None else None
    axes.text(x, y, text, ha="center", va="center", color=ink, fontsize=SMALL, bbox=back)


def _luminance(colour: Colour) -> float:
    """The relative luminance that WCAG 2.2 defines contrast by, from 0 to 1."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _frame(axes: Axes, down: Sequence[str], across: Sequence[str], label: str) -> None:
    axes.set_xlim(-0.5, len(across) - 0.5)
    axes.set_ylim(len(down) - 0.5, -0.5)
    axes.set_xticks(range(len(across)), across)
    turn_long_labels(axes)
    axes.set_yticks(range(len(down)), down)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_title(textwrap.fill(label, 40))
