"""The profile as tables of text: scores, effects, and what the marks mean."""

from __future__ import annotations

from zoo.report.profile.profile import DataSet, Profile, Score
from zoo.report.profile.profile_answer import profile_answer
from zoo.report.stats.effects import Effect
from zoo.report.tables.text import plain, tabulated

Table = tuple[list[str], list[list[str]]]  # heads, and rows of cells


def scores_table(profile: Profile) -> Table:
    """Rows × data sets, with the chance level in the last line."""
    heads = ["row", *(data.name for data in profile.data_sets)]
    rows = [
        [plain(short, 40), *(cell_text(profile.score(name, d), d) for d in profile.data_sets)]
        for name, short in profile.names.items()
    ]
    if any(data.chance is not None for data in profile.data_sets):
        levels = [
            "" if data.chance is None else data.metric.format(data.chance)
            for data in profile.data_sets
        ]
        rows.append(["(chance)", *levels])
    return heads, rows


def cell_text(score: Score | None, data: DataSet) -> str:
    """A score with its marks; without one, why there is none."""
    if score is None:
        return ""
    if score.mean is None:
        return score.status
    marks = f"{'=' if score.best else ''}{'c' if score.at_chance else ''}"
    return f"{data.metric.format(score.mean)} {marks}".rstrip()


def effects_table(profile: Profile) -> Table:
    """Effects × data sets: how much better each choice is than the reference's."""
    heads = ["effect", *(data.name for data in profile.data_sets)]
    rows = [
        [
            f"{component} against {against}",
            *(_effect_text(found.get(data.name), data) for data in profile.data_sets),
        ]
        for (_, component, against), found in profile.effects.items()
    ]
    return heads, rows


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


def profile_summary(profile: Profile) -> str:
    """Both tables, the answer and the notes, for a terminal."""
    parts = [as_text(scores_table(profile)), as_text(effects_table(profile))]
    parts += [" ".join(profile_answer(profile)), "\n".join(profile_notes(profile))]
    return "\n\n".join(filter(None, parts))


def profile_notes(profile: Profile) -> list[str]:
    """What the columns hold, and what the marks mean."""
    metrics = {data.metric.label: data.metric for data in profile.data_sets}
    by_metric = [
        f"{label}: " + ", ".join(d.name for d in profile.data_sets if d.metric.label == label)
        for label in metrics
    ]
    scores = [score for data in profile.data_sets for score in data.scores.values()]
    lines = [f"Mean over seeds of {'; '.join(by_metric)}."]
    lines += [f"Lower {m.label} is better." for m in metrics.values() if not m.higher_is_better]
    if any(score.best for score in scores):
        lines.append(
            "=: cannot be distinguished from the best row (cell or baseline) on this data."
        )
    elif all(score.best is None for score in scores):
        lines.append("Too few seeds: nothing is ranked.")
    if any(score.at_chance for score in scores):
        lines.append("c: not better than chance, over seeds or over other test sets of this size.")
    if profile.effects:
        units = dict.fromkeys(data.metric.unit for data in profile.data_sets)
        lines.append(
            f"Effects in {' or '.join(units)}, averaged over what each choice was combined with; "
            "=: not significantly different from 0."
        )
    return lines
