"""Heat maps: attention × pe of one run, and rows × data sets of a profile."""

from __future__ import annotations

import itertools
import math
import statistics
import textwrap

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from zoo.report.evaluated_run import SOLVED
from zoo.report.plots.plot import (
    INK,
    MUTED,
    PAPER,
    SMALL,
    WIDTH,
    Plot,
    finish,
    styled,
    turn_long_labels,
)
from zoo.report.profile import Profile
from zoo.report.profile_text import brief, cell_text, mark_notes
from zoo.report.run_report import RunReport
from zoo.report.tables.text import plain

LINE, FRAME = 0.3, 0.75  # inches: of a row, and of an axis with its labels and title
COLUMN, LETTER = 0.62, 0.08  # inches: of a column at least, and of a letter
NARROW, WIDE = 0.37, 0.88  # inches: of a column of a profile, with ``2/3``, and with ``2/3 · .79``
NAME = 15  # characters of a choice, or of a line of a row's name
MOST = 20  # choices of an axis
MOST_ROWS = 100  # of a profile
TITLE = 60  # characters of a data set's name
PALE = 0.22  # opacity of colours whose differences are ties
DARK, LIGHT = "#010101", "#fefefe"  # of numbers on a colour, in light and dark mode alike
EQUAL = 0.18  # the luminance of a colour on which both have the same contrast
RATIO = "train_ratio"
NAMES = {"pe": "positional encoding", "ffn": "feed-forward network"}
Colour = tuple[float, float, float]  # red, green, blue, from 0 to 1


def heat_plots(run: RunReport) -> list[Plot]:
    """One plot with a panel each for metric and speed; none without two choices of each axis."""
    if not {"attention", "pe"} <= set(run.axes):
        return []
    # The other axes are as in the reference.
    rest = {a: choices[0] for a, choices in run.axes.items() if a not in ("attention", "pe")}
    cells = {
        (row.cell["attention"], row.cell["pe"]): number
        for number, row in enumerate(run.rows)
        if not row.baseline and all(row.cell[axis] == choice for axis, choice in rest.items())
    }
    attention, pe = (run.axes[axis][:MOST] for axis in ("attention", "pe"))
    cells = {c: n for c, n in cells.items() if c[0] in attention and c[1] in pe}
    metric, numbers = run.metric, list(cells.values())
    both = (
        (metric.name, f"{metric.name}_mean", run.metric_label, metric.digits),
        (RATIO, RATIO, "training speed, × the reference's", 2),
    )
    panels = [p for p in both if sum(run.lines[n][p[1]] is not None for n in numbers) > 1]
    if not panels:
        return []
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
        values = [run.lines[n][mean] for n in numbers]
        known = [float(value) for value in values if value is not None]
        middle, sign = (min(known) + max(known)) / 2, 1 if column == RATIO else metric.direction
        pale = not _any_difference(run, numbers, column)
        # What can be told apart is at most half of the scale, so that ties have nearly one colour.
        gap = _apart(run, numbers, column)
        span = max(max(known) - min(known), 2 * gap) if gap or not pale else math.inf
        if pale:
            ties.append(label.partition(",")[0])
        for (x, one), (y, other) in itertools.product(enumerate(pe), enumerate(attention)):
            number = cells.get((other, one))
            gid, text, colour = "", "not run", None
            if number is not None:
                gid, value = f"row-{number}-{place}", run.lines[number][mean]
                marks[gid] = run.describe(number)
                text = str(run.lines[number]["status"]).replace("ok", "")
                if value is not None:
                    text = f"{value:.{digits}f}"
                    colour = _colour(0.5 + sign * (value - middle) / span if span else 0.5)
            _draw_cell(axes, *((y, x) if turned else (x, y)), colour, text, gid, pale)
        axes.set_xticks(range(len(across)), across)
        turn_long_labels(axes)
        axes.set_yticks(range(len(down)), down)
        _frame(axes, len(down), len(across))
        axes.set_title(textwrap.fill(label, 40))
    about = "Lighter is better. A hatched cell has no value and states why."
    if ties:
        about += f" Pale: no two cells are known to differ in {' or '.join(ties)}."
    if rest:
        about += f" With {', '.join(rest)} as in the reference."
    if any(len(run.axes[axis]) > MOST for axis in ("attention", "pe")):
        about += f" Of each axis the first {MOST} choices are shown."
    return [finish("grid", "Attention and positional encoding", about, figure, marks)]


def _apart(run: RunReport, numbers: list[int], column: str) -> float:
    """The difference that a run can tell from none in a column; 0 where that is not known.

    Of ratios it is the median width of the intervals.
    """
    if column != RATIO:
        return run.verdicts.visible() or 0.0
    ends = [(run.lines[n][f"{column}_low"], run.lines[n][f"{column}_high"]) for n in numbers]
    widths = [float(high - low) for low, high in ends if low is not None]
    return statistics.median(widths) if widths else 0.0


def _any_difference(run: RunReport, numbers: list[int], column: str) -> bool:
    """Whether two of these rows differ significantly, or a speed from the reference's."""
    if column == RATIO:
        return any(run.lines[n]["train_tie"] is False for n in numbers)
    names = [run.rows[n].name for n in numbers]
    return any(run.verdicts.verdict(*pair) for pair in itertools.combinations(names, 2))


def _colour(level: float) -> Colour:
    """Between dark blue at 0 and yellow at 1, in an order that survives grey print."""
    red, green, blue, _ = colormaps["cividis"](level)
    return red, green, blue


def _draw_cell(
    axes: Axes, x: int, y: int, colour: Colour | None, text: str, gid: str, pale: bool
) -> None:
    """One square of a heat map at (x, y) with its text; hatched where it has no colour."""
    square = Rectangle((x - 0.5, y - 0.5), 1, 1, linewidth=1.5, edgecolor=PAPER)
    ink, back = MUTED, None
    if colour is None:
        square.set(facecolor="none", hatch="///", edgecolor=MUTED, linewidth=0.3)
        back = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0}
    else:
        square.set_facecolor((*colour, PALE if pale else 1.0))
        # The relative luminance that WCAG 2.2 defines contrast by.
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour
        )
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        ink = INK if pale else DARK if luminance > EQUAL else LIGHT
    if gid:
        square.set_gid(gid)
    axes.add_patch(square)
    axes.text(x, y, text, ha="center", va="center", color=ink, fontsize=SMALL, bbox=back)


def _frame(axes: Axes, rows: int, columns: int) -> None:
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)


@styled()
def profile_plot(profile: Profile, wide: bool = False) -> Plot:
    """Rows × data sets, coloured between chance and the best possible score.

    wide: with the mean score in each cell, and wider than a phone.
    """
    data_sets = profile.data_sets
    rows = list(profile.names.items())[:MOST_ROWS]
    names = [_in_lines(short) for _, short in rows]
    titles = [plain(data.name, TITLE) for data in data_sets]
    if wide:
        titles = [title.replace("(", "\n(", 1) for title in titles]
    solved = all(data.run.goal is not None for data in data_sets)
    lines = sum(max(1.0, 0.7 * (1 + text.count("\n"))) for text in names)
    width = 0.085 * (NAME + 3) + (WIDE if wide else NARROW) * len(data_sets)
    longest = max(len(line) for title in titles for line in title.split("\n"))
    figure = Figure(
        figsize=(max(WIDTH, width), 1.5 + 0.27 * lines + 0.058 * longest), layout="constrained"
    )
    axes, marks = figure.subplots(), {}
    any_pale = False
    for x, data in enumerate(data_sets):
        ranks = [score.best for score in data.scores.values()]
        pale = data.run.goal is None and any(ranks) and False not in ranks
        any_pale |= pale
        for y, (name, short) in enumerate(rows):
            score, gid = data.scores.get(name), f"cell-{y}-{x}"
            level = None if score is None else score.level
            text = cell_text(score, data) if score else "not run"
            marks[gid] = f"{plain(short)} on {plain(data.name)}: {data.metric.label} {text}"
            colour = None if level is None else _colour(level)
            text = text.replace(" solved", "").partition(":")[0]
            _draw_cell(axes, x, y, colour, text if wide else _short(text), gid, pale)
    axes.set_xticks(range(len(titles)), titles, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names, linespacing=1.1)
    _frame(axes, len(names), len(titles))
    title = "Which part solves which task" if solved else "Mean score on each data set"
    axes.set_ylabel(" + ".join(NAMES.get(axis, axis) for axis in profile.axes))
    ends = {0.0: "chance", SOLVED: "solved"} if solved else {0.0: "low", 1.0: "high"}
    example = "2/3: solved in 2 of 3 seeds" if solved else ""
    if solved and wide:
        example = "2/3 · .79: solved in 2 of 3 seeds, mean score .79"
    figure.suptitle(f"{title}\n{example}".strip(), fontsize=11)
    colours = ScalarMappable(Normalize(0, 1), "cividis")
    steps = [step / 10 for step in range(11)]  # fewer patches than a smooth scale
    scale = figure.colorbar(colours, ax=axes, boundaries=steps, location="top", aspect=50)
    scale.set_label("mean score")
    scale.set_ticks(list(ends), labels=list(ends.values()))
    about = "Dark is the chance level, light the best possible score."
    if not solved:
        about += " Where these are not known: dark is the worst row, light the best one."
    if any_pale:
        about += " A pale column has no row that is significantly worse than another."
    if len(profile.names) > MOST_ROWS:
        about += f" The first {MOST_ROWS} of {len(profile.names):,} rows."
    about = " ".join([about, *mark_notes(profile)])
    return finish("profile", "Score on each data set", about, figure, marks)


def _short(text: str) -> str:
    """What fits into a narrow cell: ``2/3`` of ``2/3 · .79``, ``.95=`` of ``0.954 =``."""
    number, _, mark = text.partition(" ")
    try:
        return f"{brief(float(number))}{mark}"
    except ValueError:
        return {"not run": "–"}.get(text, text.partition(" ·")[0])


def _in_lines(name: str) -> str:
    """A row's name in at most two lines, if possible divided after a + or /."""
    text = plain(name, 2 * NAME - 2)
    if len(text) <= NAME:
        return text
    places = [at for at in range(1, len(text)) if text[at - 1] in "+/" and at <= NAME] or [NAME]
    return f"{text[: places[-1]]}\n{text[places[-1] :]}"
