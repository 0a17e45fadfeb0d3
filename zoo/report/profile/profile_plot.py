"""The profile as a heat map, and as a critical-difference diagram."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from zoo.report.plots.heat import Colour, draw_cell
from zoo.report.plots.plot import HUES, INK, WIDTH, Plot, finish
from zoo.report.profile.profile import Profile
from zoo.report.profile.profile_text import cell_text, mark_notes
from zoo.report.tables.text import plain

LINE, FRAME = 0.26, 0.5  # inches: of a row, and of axis and title
COLUMN, LETTER = 0.385, 0.085  # inches: of a data set, and of a letter
NAME, TITLE = 15, 22  # characters of a line of a row's name, and of a data set's name
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
    data_sets = profile.data_sets
    names = {name: _in_lines(short) for name, short in profile.names.items()}
    titles = [plain(data.name, TITLE) for data in data_sets]
    lines = sum(max(1.0, 0.7 * (1 + text.count("\n"))) for text in names.values())
    width = max(WIDTH, LETTER * (NAME + 1) + COLUMN * len(data_sets))
    height = FRAME + LINE * lines + 0.7 * LETTER * max(map(len, titles))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes, marks = figure.subplots(), {}
    for x, data in enumerate(data_sets):
        pale = all(score.best is not False for score in data.scores.values())
        for y, (name, short) in enumerate(profile.names.items()):
            score, gid = profile.score(name, data), f"cell-{y}-{x}"
            level = None if score is None or score.level is None else score.level
            text = cell_text(score, data) if score else "not run"
            marks[gid] = f"{plain(short)} on {plain(data.name)}: {data.metric.label} {text}"
            colour = None if level is None else _colour(level)
            draw_cell(axes, x, y, colour, _brief(text), gid, pale)
    axes.set_xlim(-0.5, len(data_sets) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xticks(range(len(data_sets)), titles, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), list(names.values()), linespacing=1.1)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    about = " ".join([_colours(profile), *mark_notes(profile)])
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


def _colours(profile: Profile) -> str:
    """What the darkest and the lightest colour mean."""
    absolute = "dark is the chance level, light the best possible score"
    relative = "dark is the worst row, light the best one"
    known = [data.absolute_levels for data in profile.data_sets]
    text = f"{absolute}; where these are not known, {relative}"
    text = absolute if all(known) else text if any(known) else relative
    pale = any(
        all(score.best is not False for score in data.scores.values()) for data in profile.data_sets
    )
    ties = " A pale column has no row that is significantly worse than another." if pale else ""
    return f"{text.capitalize()}.{ties}"


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
    ranks = ranks.sort_values(kind="stable")
    names, groups = list(ranks.index), _not_different(ranks, pairs)
    height = FRAME + 0.3 + LINE * 0.8 * len(names)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.plot(ranks, range(len(names)), "o", color=HUES[0], markersize=6)
    step = 0.06 * (ranks.iloc[-1] - ranks.iloc[0] or 1.0)
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


def _not_different(ranks: pd.Series, pairs: pd.DataFrame) -> list[tuple[int, int]]:
    """The longest runs of cells, the best first, of which no two are significantly different.

    ranks: in ascending order. pairs: the p-values of all pairs.
    """
    p = pairs.loc[ranks.index, ranks.index].to_numpy()
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = first
        while last + 1 < len(ranks) and (p[first : last + 1, last + 1] >= LEVEL).all():
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
