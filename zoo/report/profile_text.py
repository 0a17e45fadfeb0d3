"""The profile in words: its tables of scores and effects, the answer, the notes, and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zoo.errors import counted, listed
from zoo.report.profile import DataSet, Profile, Score
from zoo.report.stats.effects import Effect
from zoo.report.tables.text import plain, tabulated

Table = tuple[list[str], list[list[str]]]  # heads, and rows of cells
NAMED = 4  # rows or data sets that a sentence names
PLOT_NAMES = ("profile",)


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
            *(_effect_text(of_data.get(data.name), data) for data in profile.data_sets),
        ]
        for (_, component, against), of_data in profile.effects.items()
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

    Sentences for a reader who wants to choose.
    """
    data_sets, answer = profile.data_sets, []
    if solvable := [data for data in data_sets if data.run.goal is not None]:
        total = counted(len(solvable), "data set")
        names, count = _most_often(profile, solvable, lambda score: score.solved_always)
        answer.append(
            f"Most data sets solved with every seed: {listed(names, NAMED)} ({count} of {total})."
            if names
            else f"No cell solves any of the {total} with every seed."
        )
        never = [d.name for d in solvable if not any(s.solved for s in d.cells.values())]
        if never:
            answer.append(f"No cell solves {listed(never, NAMED)} with any seed.")
    ranked = [data for data in data_sets if any(s.best for s in data.scores.values())]
    apart = [data for data in ranked if any(s.best is False for s in data.cells.values())]
    if not ranked:
        enough = max(data.run.verdicts.enough for data in data_sets)
        answer.append(
            f"Too few seeds to say which rows differ: at least {enough} are needed "
            f"(--seeds {enough})."
        )
    elif not apart:
        answer.append(f"On none of the {len(ranked)} data sets can the cells be distinguished.")
    else:
        names, count = _most_often(profile, apart, lambda score: bool(score.best))
        answer += [
            f"Cells differ on {len(apart)} of {counted(len(ranked), 'data set')}: "
            f"{listed([data.name for data in apart], NAMED)}.",
            f"Most often the best there, or tied with it: {listed(names, NAMED)} (on {count}).",
        ]
    if ahead := [data.name for data in data_sets if data.baseline_leads]:
        answer.append(f"A baseline scores as high as every cell on {listed(ahead, NAMED)}.")
    return answer


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
    names: dict[str, list[str]] = {}
    for data in profile.data_sets:
        names.setdefault(data.metric.label, []).append(data.name)
    metrics = {data.metric.label: data.metric for data in profile.data_sets}.values()
    parts = [f"{label}: {', '.join(of)}" for label, of in names.items()]
    notes = [f"Mean over seeds of {'; '.join(parts)}."]
    notes += [f"Lower {m.label} is better." for m in metrics if not m.higher_is_better]
    notes += [*mark_notes(profile), *visible_notes(profile)]
    if profile.effects:
        units = " or ".join(dict.fromkeys(metric.unit for metric in metrics))
        notes.append(
            f"Effects in {units}, averaged over what each choice was combined with; =: not "
            "significantly different from 0, by tests that are corrected for all comparisons on "
            "the data set (Holm); ± is the interval of one alone."
        )
    return notes


def mark_notes(profile: Profile) -> list[str]:
    """What the marks of scores mean, of those that there are."""
    notes = []
    if any(data.run.goal is not None for data in profile.data_sets):
        notes.append(
            "solved: in how many seeds the score is nine tenths of the way from chance to the best "
            "possible one, or further; then the mean score of all."
        )
    unsolved = (data for data in profile.data_sets if data.run.goal is None)
    if any(score.best for data in unsolved for score in data.scores.values()):
        notes.append("=: no row (cell or baseline) is significantly better on this data.")
    return notes


def visible_notes(profile: Profile) -> list[str]:
    """Which differences the data sets could have shown; nothing where none was tested."""
    gaps = [(data, data.run.verdicts.visible()) for data in profile.data_sets]
    known = [f"{d.metric.format_size(gap)} on {d.name}" for d, gap in gaps if gap is not None]
    if not known:
        return []
    return [
        "Smallest differences between two rows that would have shown in 4 of 5 such runs: "
        f"{listed(known, NAMED)}."
    ]
