"""The profile in words: its tables of scores and effects, the answer, the notes, and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zoo.report.profile import DataSet, Profile, Score
from zoo.report.stats.effects import Effect
from zoo.report.tables.text import plain, tabulated
from zoo.report.tables.words import said

Table = tuple[list[str], list[list[str]]]  # heads, and rows of cells
NAMED = 4  # rows or data sets that a sentence names
PLOT_NAMES = ("profile",)
TIED_EFFECTS = (
    "=: not significantly different from 0, by tests that are corrected for all comparisons on the "
    "data set (Holm); ± is the interval of one alone"
)
MARKS = {
    "solved": "in how many seeds the score is nine tenths of the way from chance to the best "
    "possible one, or further; then the mean score of all",
    "=": "no row (cell or baseline) is significantly better on this data",
}


def scores_table(profile: Profile) -> Table:
    """Rows × data sets, with the chance level in the last line."""
    data_sets = profile.data_sets
    rows = [
        [plain(short, 40), *(cell_text(data.scores.get(name), data) for data in data_sets)]
        for name, short in profile.names.items()
    ]
    chances = [data.run.chance for data in data_sets]
    if any(chance is not None for chance in chances):
        levels = zip(data_sets, chances, strict=True)
        rows.append(["(chance)", *("" if c is None else d.metric.format(c) for d, c in levels)])
    return ["row", *(data.name for data in data_sets)], rows


def cell_text(score: Score | None, data: DataSet) -> str:
    """``2/3 solved · .79``, or a score with its mark; without one, why there is none."""
    if score is None:
        return ""
    if score.mean is None:
        return score.status
    if score.solved is not None:
        return f"{score.solved}/{score.trained} solved · {brief(score.mean)}"
    return f"{data.metric.format(score.mean)}{' =' if score.best else ''}"


def brief(value: float) -> str:
    """With two decimals, and without the zero before the point: ``.95``."""
    if abs(value) >= 10:
        return f"{value:.3g}"
    return f"{value:.2f}".replace("1.00", "1.0").removeprefix("0")


def effects_table(profile: Profile) -> Table:
    """Effects × data sets: how much better the reference's choice is than each other one."""
    rows = [
        [
            f"{component} against {against}",
            *(_effect_text(found.get(data.name), data) for data in profile.data_sets),
        ]
        for (_, component, against), found in profile.effects.items()
    ]
    return ["effect", *(data.name for data in profile.data_sets)], rows


def _effect_text(effect: Effect | None, data: DataSet) -> str:
    """``+43.2 ± 2.1``, with ``=`` where it is a tie."""
    if effect is None or (difference := effect.difference) is None:
        return ""
    text = data.metric.format_difference(difference.mean, difference.half)
    tie = difference.half is not None and not difference.real
    return text.removesuffix(f" {data.metric.unit}") + (" =" if tie else "")


def as_text(table: Table, style: str = "simple") -> str:
    """A table in a style of tabulate's; empty where it has no rows."""
    heads, rows = table
    return tabulated(rows, heads, style, ["left"] * len(heads)) if rows else ""


def profile_answer(profile: Profile) -> list[str]:
    """Which cells solve most data sets, where rows differ, which is best most often, and baselines.

    Sentences for a reader who wants to choose; an empty profile has none.
    """
    data_sets = profile.data_sets
    ranked = [data for data in data_sets if any(s.best for s in data.scores.values())]
    apart = [data for data in ranked if any(s.best is False for s in data.cells.values())]
    solvable = [data for data in data_sets if data.run.goal is not None]
    ahead = []
    for data in data_sets:
        scored = {name: s for name, s in data.scores.items() if s.mean is not None}
        cells = [s for name, s in scored.items() if name in data.cells]
        others = [s for name, s in scored.items() if name not in data.cells]
        tops = [max(data.metric.better(s.mean or 0.0) for s in of) for of in (cells, others) if of]
        if len(tops) == 2 and tops[1] >= tops[0]:
            ahead.append(data.name)
    return said(
        "profile",
        NAMED=NAMED,
        ranked=len(ranked),
        enough=max((data.run.verdicts.enough for data in data_sets), default=0),
        apart=[data.name for data in apart],
        best=_most_often(profile, apart, lambda s: bool(s.best)),
        solvable=len(solvable),
        solving=_most_often(profile, solvable, lambda s: s.trained > 0 and s.solved == s.trained),
        never=[d.name for d in solvable if not any(s.solved for s in d.cells.values())],
        ahead=ahead,
    )


def _most_often(
    profile: Profile, data_sets: Sequence[DataSet], holds: Callable[[Score], bool]
) -> tuple[list[str], int]:
    """The cells for which it holds on most data sets, and on how many; none for none."""
    counts = {
        short: sum(holds(s) for data in data_sets if (s := data.cells.get(name)))
        for name, short in profile.names.items()
    }
    most = max(counts.values(), default=0)
    return [short for short, count in counts.items() if most and count == most], most


def profile_notes(profile: Profile) -> list[str]:
    """What the columns hold, and what the marks mean."""
    named: dict[str, list[DataSet]] = {}
    for data in profile.data_sets:
        named.setdefault(data.metric.label, []).append(data)
    _, rows = effects_table(profile)
    ties = any(text.endswith("=") for _, *texts in rows for text in texts)
    return said(
        "profile_notes",
        metrics=[(of[0].metric, [data.name for data in of]) for of in named.values()],
        marks=mark_notes(profile),
        visible=visible_notes(profile),
        units=dict.fromkeys(data.metric.unit for data in profile.data_sets if rows),
        ties=TIED_EFFECTS if ties else "",
    )


def mark_notes(profile: Profile) -> list[str]:
    """What the marks of scores mean, of those that there are."""
    scores = ((score, data) for data in profile.data_sets for score in data.scores.values())
    shown = " ".join(cell_text(score, data) for score, data in scores).split()
    return [f"{mark}: {meaning}." for mark, meaning in MARKS.items() if mark in shown]


def visible_notes(profile: Profile) -> list[str]:
    """Which differences the data sets could have shown; nothing where none was tested."""
    found = [(data.run.verdicts.visible(), data) for data in profile.data_sets]
    known = [(gap, data) for gap, data in found if gap is not None]
    parts = []
    for unit in dict.fromkeys(data.metric.unit for _, data in known):
        of_unit = [(gap * d.metric.scale, gap, d) for gap, d in known if d.metric.unit == unit]
        ends = [min(of_unit, key=lambda one: one[0]), max(of_unit, key=lambda one: one[0])]
        named = [
            f"{data.metric.format_size(gap)} ({plain(data.name, 60)})" for _, gap, data in ends
        ]
        parts.append(" to ".join(dict.fromkeys(named)))
    if not parts:
        return []
    unknown = ", ".join(plain(data.name, 60) for gap, data in found if gap is None)
    return [
        "Smallest differences between two rows that would have shown in 4 of 5 such runs: "
        f"{'; '.join(parts)}{f'; not known on {unknown}' if unknown else ''}."
    ]
