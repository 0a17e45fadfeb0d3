"""The picture of a profile: rows × data sets, each cell with its score on a colour."""

from __future__ import annotations

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from zoo.report.evaluated_run import SOLVED
from zoo.report.plots.plot import INK, MUTED, PAPER, SMALL, WIDTH, Plot, finish, styled
from zoo.report.profile import Profile
from zoo.report.profile_text import cell_text, mark_notes
from zoo.report.tables.text import plain

COLUMN, LETTER = 0.88, 0.085  # inches: of a column, and of a letter of a row's name
NAME = 15  # characters of a line of a row's name
MOST_ROWS = 100
TITLE = 60  # characters of a data set's name
PALE = 0.22  # opacity of colours whose differences are ties
EQUAL = 0.18  # the luminance of a ground on which black and white have the same contrast
NAMES = {"pe": "positional encoding", "ffn": "feed-forward network"}
Colour = tuple[float, float, float]  # red, green, blue, from 0 to 1


@styled()
def profile_plot(profile: Profile) -> Plot:
    """Rows × data sets, coloured between chance and the best possible score."""
    data_sets = profile.data_sets
    rows = list(profile.names.items())[:MOST_ROWS]
    names = [_in_lines(short) for _, short in rows]
    titles = [plain(data.name, TITLE).replace("(", "\n(", 1) for data in data_sets]
    solved = all(data.run.goal is not None for data in data_sets)
    lines = sum(max(1.0, 0.7 * (1 + text.count("\n"))) for text in names)
    width = LETTER * (NAME + 3) + COLUMN * len(data_sets)
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
            text = cell_text(score, data) if score else "not run"
            marks[gid] = f"{plain(short)} on {plain(data.name)}: {data.metric.label} {text}"
            text = text.replace(" solved", "").partition(":")[0]
            _draw_cell(axes, x, y, score.level if score else None, text, gid, pale)
    axes.set_xticks(range(len(titles)), titles, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names, linespacing=1.1)
    axes.set(xlim=(-0.5, len(titles) - 0.5), ylim=(len(names) - 0.5, -0.5))
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_ylabel(" + ".join(NAMES.get(axis, axis) for axis in profile.axes))
    if solved:
        title, ends = "Which part solves which task", {0.0: "chance", SOLVED: "solved"}
        title += "\n2/3 · .79: solved in 2 of 3 seeds, mean score .79"
    else:
        title, ends = "Mean score on each data set", {0.0: "low", 1.0: "high"}
    figure.suptitle(title, fontsize=11)
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


def _draw_cell(
    axes: Axes, x: int, y: int, level: float | None, text: str, gid: str, pale: bool
) -> None:
    """One square at (x, y) with its text; hatched where there is no level."""
    square = Rectangle((x - 0.5, y - 0.5), 1, 1, linewidth=1.5, edgecolor=PAPER, gid=gid)
    ink, back = MUTED, None
    if level is None:
        square.set(facecolor="none", hatch="///", edgecolor=MUTED, linewidth=0.3)
        back = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0}
    else:
        # From dark blue to yellow, in an order that survives grey print.
        red, green, blue, _ = colormaps["cividis"](level)
        square.set_facecolor((red, green, blue, PALE if pale else 1.0))
        ink = INK if pale or _luminance((red, green, blue)) > EQUAL else PAPER
    axes.add_patch(square)
    axes.text(x, y, text, ha="center", va="center", color=ink, fontsize=SMALL, bbox=back)


def _luminance(colour: Colour) -> float:
    """The relative luminance that WCAG 2.2 defines contrast by."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _in_lines(name: str) -> str:
    """A row's name in at most two lines, if possible divided after a + or /."""
    text = plain(name, 2 * NAME - 2)
    if len(text) <= NAME:
        return text
    places = [at for at in range(1, len(text)) if text[at - 1] in "+/" and at <= NAME] or [NAME]
    return f"{text[: places[-1]]}\n{text[places[-1] :]}"
