"""The profile as a heat map, and as a critical-difference diagram."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from zoo.report.plots.heat import Colour, draw_cell
from zoo.report.plots.plot import INK, MUTED, WIDTH, Plot, finish
from zoo.report.profile.profile import Profile
from zoo.report.profile.profile_text import cell_text, mark_notes
from zoo.report.tables.text import plain

LINE, FRAME = 0.32, 1.4  # inches: of a row, and of axis and title
COLUMN, NAMES = 0.72, 1.9  # inches: of a data set, and of the rows' names
FEWEST_DATA, FEWEST_CELLS = 5, 3  # for the test of Friedman and Nemenyi to say anything
LEVEL = 0.05


def profile_plots(profile: Profile) -> Iterator[Plot]:
    """The heat map and, where there are enough data sets, the critical-difference diagram."""
    yield _heat_map(profile)
    ranked = ranked_scores(profile)
    enough = ranked.shape[0] >= FEWEST_DATA and ranked.shape[1] >= FEWEST_CELLS
    if enough and importlib.util.find_spec("scikit_posthocs"):
        yield _critical_difference(ranked)


def _heat_map(profile: Profile) -> Plot:
    """Rows × data sets, coloured between chance and the best possible score."""
    data_sets, names = profile.data_sets, profile.names
    width = max(WIDTH, NAMES + COLUMN * len(data_sets))
    figure = Figure(figsize=(width, FRAME + LINE * len(names)), layout="constrained")
    axes, marks = figure.subplots(), {}
    for y, (name, short) in enumerate(names.items()):
        for x, data in enumerate(data_sets):
            score, gid = profile.score(name, data), f"cell-{y}-{x}"
            level = None if score is None or score.level is None else score.level
            text = cell_text(score, data) if score else "not run"
            marks[gid] = f"{plain(short)} on {plain(data.name)}: {data.metric.label} {text}"
            draw_cell(axes, x, y, None if level is None else _colour(level), text, gid)
    axes.set_xlim(-0.5, len(data_sets) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xticks(range(len(data_sets)), [plain(data.name, 22) for data in data_sets])
    for tick in axes.get_xticklabels():
        tick.set(rotation=30, ha="right")
    axes.set_yticks(range(len(names)), [plain(short, 32) for short in names.values()])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_title("Score on each data set")
    about = " ".join([_colours(profile), *mark_notes(profile)])
    return finish("profile", "Profile", about, figure, marks)


def _colours(profile: Profile) -> str:
    """What the darkest and the lightest colour mean."""
    absolute = "dark is the chance level, light the best possible score"
    relative = "dark is the worst row, light the best one"
    known = [data.absolute_levels for data in profile.data_sets]
    text = f"{absolute}; where these are not known, {relative}"
    text = absolute if all(known) else text if any(known) else relative
    return f"{text.capitalize()}."


def _colour(level: float) -> Colour:
    red, green, blue, _ = colormaps["cividis"](level)
    return red, green, blue


def ranked_scores(profile: Profile) -> pd.DataFrame:
    """Data sets × cells: scores, higher is better, of the cells that have one on every data set."""
    baselines = {row.name for data in profile.data_sets for row in data.run.rows if row.baseline}
    columns = {}
    for name, short in profile.names.items():
        found = [profile.score(name, data) for data in profile.data_sets]
        if name not in baselines and all(s is not None and s.mean is not None for s in found):
            columns[short] = [
                data.metric.direction * s.mean
                for data, s in zip(profile.data_sets, found, strict=True)
                if s is not None and s.mean is not None
            ]
    return pd.DataFrame(columns, index=[data.name for data in profile.data_sets])


def _critical_difference(scores: pd.DataFrame) -> Plot:
    """Mean ranks over data sets; cells joined by a bar are not significantly different.

    Friedman's test, and Nemenyi's for pairs: Demšar 2006, Statistical Comparisons of Classifiers
    over Multiple Data Sets, sections 3.2.2 and 3.2.4. Data sets count as a sample of those to
    which the result is to apply.
    """
    import scikit_posthocs
    from scipy import stats

    ranks = scores.rank(axis=1, ascending=False).mean()
    pairs = scikit_posthocs.posthoc_nemenyi_friedman(scores)
    p = float(stats.friedmanchisquare(*(scores[name] for name in scores)).pvalue)
    figure = Figure(figsize=(WIDTH, 1.2 + 0.16 * len(ranks)), layout="constrained")
    axes, names = figure.subplots(), list(ranks.index)
    # By number: the diagram is drawn in the order of sets, which for names changes from run to run.
    numbers = range(len(names))
    drawn = scikit_posthocs.critical_difference_diagram(
        ranks.set_axis(numbers),
        pairs.loc[names, names].set_axis(numbers).set_axis(numbers, axis=1),
        ax=axes,
        alpha=LEVEL,
        label_fmt_left="{label}: {rank:.2g}",
        label_fmt_right="{rank:.2g}: {label}",
        label_props={"fontsize": 8},
        elbow_props={"color": MUTED},
        crossbar_props={"color": INK, "marker": None},
    )
    for number, label in enumerate(drawn["labels"]):
        left = number < (len(names) + 1) // 2
        one, other = label.get_text().split(": ")
        label.set_text(f"{names[int(one)]} ({other})" if left else f"({one}) {names[int(other)]}")
    axes.grid(visible=False)
    axes.set_title(f"Mean rank over {len(scores)} data sets")
    about = (
        f"Lower ranks are better. Cells joined by a bar are not significantly different (Nemenyi's "
        f"test, 5% level); Friedman's test that all are equal: p = {p:.2g}. The data sets count as "
        "a sample of those that the result is to apply to."
    )
    return finish("critical-difference", "Critical difference", about, figure, {})
