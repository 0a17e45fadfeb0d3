"""Heat maps: attention × pe of one run, and rows × data sets of a profile, with mean ranks."""

from __future__ import annotations

import importlib.util
import itertools
import math
import statistics
import textwrap
from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from zoo.report.plots.plot import (
    HUES,
    INK,
    MUTED,
    PAPER,
    SMALL,
    WIDTH,
    Plot,
    finish,
    turn_long_labels,
)
from zoo.report.profile import Profile
from zoo.report.profile_text import cell_text, mark_notes
from zoo.report.run_report import RunReport
from zoo.report.tables.text import plain

LINE, FRAME = 0.3, 0.75  # inches: of a row, and of an axis with its labels and title
COLUMN, LETTER = 0.62, 0.08  # inches: of a column at least, and of a letter
NAME = 15  # characters of a choice, or of a line of a row's name
MOST = 20  # choices of an axis
MOST_ROWS = 100  # of a profile
TITLE = 22  # characters of a data set's name
PALE = 0.22  # opacity of colours whose differences are ties
DARK, LIGHT = "#010101", "#fefefe"  # of numbers on a colour, in light and dark mode alike
EQUAL = 0.18  # the luminance of a colour on which both have the same contrast
RATIO = "train_ratio"
FEWEST_DATA, FEWEST_CELLS = 5, 3  # for the test of Friedman and Nemenyi to say anything
LEVEL = 0.05
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
    names = [run.rows[n].name for n in numbers]
    if column == RATIO:
        known = [run.lines[n]["train_tie"] for n in numbers]
        verdicts = [None if tie is None else int(not tie) for tie in known]
    else:
        verdicts = [run.verdicts.verdict(*pair) for pair in itertools.combinations(names, 2)]
    return any(verdicts)


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


def profile_plots(profile: Profile) -> Iterator[Plot]:
    """The heat map and, where there are enough data sets, the critical-difference diagram."""
    yield _profile_map(profile)
    ranked = ranked_scores(profile)
    enough = ranked.shape[0] >= FEWEST_DATA and FEWEST_CELLS <= ranked.shape[1] <= MOST_ROWS
    if enough and importlib.util.find_spec("scikit_posthocs"):
        yield _critical_difference(ranked)


def _profile_map(profile: Profile) -> Plot:
    """Rows × data sets, coloured between chance and the best possible score."""
    data_sets = profile.data_sets
    rows = list(profile.names.items())[:MOST_ROWS]
    names = [_in_lines(short) for _, short in rows]
    titles = [plain(data.name, TITLE) for data in data_sets]
    lines = sum(max(1.0, 0.7 * (1 + text.count("\n"))) for text in names)
    width = max(WIDTH, 0.085 * (NAME + 1) + 0.385 * len(data_sets))
    height = 0.5 + 0.26 * lines + 0.0595 * max(map(len, titles))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes, marks = figure.subplots(), {}
    any_pale = False
    for x, data in enumerate(data_sets):
        pale = all(score.best is not False for score in data.scores.values())
        any_pale |= pale
        for y, (name, short) in enumerate(rows):
            score, gid = data.scores.get(name), f"cell-{y}-{x}"
            level = None if score is None else score.level
            text = cell_text(score, data) if score else "not run"
            marks[gid] = f"{plain(short)} on {plain(data.name)}: {data.metric.label} {text}"
            colour = None if level is None else _colour(level)
            _draw_cell(axes, x, y, colour, _brief(text), gid, pale)
    axes.set_xticks(range(len(titles)), titles, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names, linespacing=1.1)
    _frame(axes, len(names), len(titles))
    absolute = "dark is the chance level, light the best possible score"
    relative = "dark is the worst row, light the best one"
    known = [data.chance is not None and data.best_possible is not None for data in data_sets]
    about = f"{absolute}; where these are not known, {relative}"
    about = (absolute if all(known) else about if any(known) else relative).capitalize() + "."
    if any_pale:
        about += " A pale column has no row that is significantly worse than another."
    if len(profile.names) > MOST_ROWS:
        about += f" The first {MOST_ROWS} of {len(profile.names):,} rows."
    about = " ".join([about, *mark_notes(profile)])
    return finish("profile", "Score on each data set", about, figure, marks)


def _in_lines(name: str) -> str:
    """A row's name in at most two lines, if possible divided after a + or /."""
    text = plain(name, 2 * NAME - 2)
    if len(text) <= NAME:
        return text
    places = [at for at in range(1, len(text)) if text[at - 1] in "+/" and at <= NAME] or [NAME]
    return f"{text[: places[-1]]}\n{text[places[-1] :]}"


def _brief(text: str) -> str:
    """A cell's text with two decimals and without the zero before the point: ``.95=``."""
    number, _, marks = text.partition(" ")
    try:
        value = float(number)
    except ValueError:
        return {"not run": "–"}.get(text, text.partition(":")[0])
    if abs(value) >= 10:
        return f"{value:.3g}{marks}"
    short = f"{value:.2f}".replace("1.00", "1.0")
    return f"{short.removeprefix('0')}{marks}"


def ranked_scores(profile: Profile) -> pd.DataFrame:
    """Data sets × cells: scores, higher is better, of the cells that have one on every data set."""
    columns = {}
    for name, short in profile.names.items():
        found = [(data.metric, data.cells.get(name)) for data in profile.data_sets]
        means = [m.better(s.mean) for m, s in found if s is not None and s.mean is not None]
        if len(means) == len(found):
            columns[short] = means
    return pd.DataFrame(columns, index=[data.name for data in profile.data_sets])


def _critical_difference(scores: pd.DataFrame) -> Plot:
    """Mean ranks over data sets; cells joined by a bar are not significantly different.

    Friedman's test, and Nemenyi's for pairs: Demšar 2006, Statistical Comparisons of Classifiers
    over Multiple Data Sets, sections 3.2.2 and 3.2.4. Data sets count as a sample of those to
    which the result is to apply.
    """
    import scikit_posthocs
    from scipy import stats

    ranks = scores.rank(axis=1, ascending=False).mean().sort_values(kind="stable")
    pairs = scikit_posthocs.posthoc_nemenyi_friedman(scores)
    p = float(stats.friedmanchisquare(*(scores[name] for name in scores)).pvalue)
    names = list(ranks.index)
    figure = Figure(figsize=(WIDTH, 0.8 + 0.26 * 0.8 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.plot(ranks, range(len(names)), "o", color=HUES[0], markersize=6)
    step = 0.06 * (ranks.iloc[-1] - ranks.iloc[0] or 1.0)
    groups = _not_different(pairs.loc[names, names].to_numpy().tolist())
    for place, (first, last) in enumerate(groups, start=1):
        across = ranks.iloc[-1] + place * step
        axes.plot([across, across], [first - 0.2, last + 0.2], color=INK, linewidth=3)
    axes.set_yticks(range(len(names)), [plain(name, 26) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("mean rank (left is better)")
    axes.tick_params(axis="y", length=0)
    about = (
        f"Over {len(scores)} data sets. Cells beside one bar are not significantly different "
        f"(Nemenyi's test, 5% level); Friedman's test that all are equal: p = {p:.2g}. The data "
        "sets count as a sample of those that the result is to apply to."
    )
    return finish("critical-difference", "Mean rank of each cell", about, figure, {})


def _not_different(p: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The longest runs of cells, the best first, without two that are significantly different.

    p: the p-values of all pairs, in the order of the ranks.
    """
    found: list[tuple[int, int]] = []
    for first in range(len(p)):
        last = first
        while last + 1 < len(p) and all(p[n][last + 1] >= LEVEL for n in range(first, last + 1)):
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
