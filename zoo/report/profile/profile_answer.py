"""What a profile says, in a few sentences."""

from __future__ import annotations

from zoo.report.profile.profile import DataSet, Profile, Score
from zoo.report.tables.text import plain
from zoo.wording import counted

NAMED = 4  # rows or data sets that a sentence names


def profile_answer(profile: Profile) -> list[str]:
    """Where rows differ, which is best on most data sets, what is at chance, and baselines.

    Sentences for a reader who wants to choose; an empty profile has none.
    """
    ranked = [data for data in profile.data_sets if any(s.best for s in data.scores.values())]
    apart = [data for data in ranked if any(s.best is False for s in _cells(data).values())]
    return [
        *_differing(ranked, apart),
        *_best(profile, apart),
        *_at_chance(profile),
        *_baselines(profile),
    ]


def _differing(ranked: list[DataSet], apart: list[DataSet]) -> list[str]:
    """On which data sets cells can be distinguished at all."""
    if not ranked:
        return ["Too few seeds to say which rows differ: three or more are needed (--seeds 3)."]
    if not apart:
        return [f"On none of the {len(ranked)} data sets can the cells be distinguished."]
    return [f"Cells differ on {len(apart)} of {counted(len(ranked), 'data set')}: {_names(apart)}."]


def _best(profile: Profile, apart: list[DataSet]) -> list[str]:
    """The cells that are among the best most often, where cells differ at all.

    Data sets on which a cell is not shown to be better than chance do not count for it: so few
    seeds, or seeds that differ so much, distinguish it from nothing.
    """
    counts = {
        name: sum(
            bool(s.best) and not s.at_chance for data in apart if (s := _cells(data).get(name))
        )
        for name in profile.names
    }
    most = max(counts.values(), default=0)
    if not most:
        return []
    best = [profile.names[name] for name, count in counts.items() if count == most]
    return [
        "Most often better than chance there and the best, or not distinguished from it: "
        f"{_listed(best)} (on {most} of {counted(len(apart), 'data set')})."
    ]


def _at_chance(profile: Profile) -> list[str]:
    """Data sets on which no cell is better than chance."""
    low = [
        data
        for data in profile.data_sets
        if (scores := [s for s in _cells(data).values() if s.mean is not None])
        and all(s.at_chance for s in scores)
    ]
    return [f"No cell is better than chance on {_names(low)}."] if low else []


def _baselines(profile: Profile) -> list[str]:
    """Data sets on which a baseline's mean is at least that of every cell."""
    ahead = []
    for data in profile.data_sets:
        better = data.metric.better
        cells = [better(s.mean) for s in _cells(data).values() if s.mean is not None]
        others = [
            better(s.mean)
            for name, s in data.scores.items()
            if s.mean is not None and name not in _cells(data)
        ]
        if cells and others and max(others) >= max(cells):
            ahead.append(data)
    return [f"A baseline scores as high as every cell on {_names(ahead)}."] if ahead else []


def _cells(data: DataSet) -> dict[str, Score]:
    """The scores of the cells, without baselines."""
    cells = {row.name for row in data.run.rows if not row.baseline}
    return {name: score for name, score in data.scores.items() if name in cells}


def _names(data_sets: list[DataSet]) -> str:
    return _listed([data.name for data in data_sets])


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(plain(name, 60) for name in names[:NAMED]) + more
