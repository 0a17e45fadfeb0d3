"""Rows against the chance level, where the data set knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zoo.config.metric_description import MetricDescription

NAMED = 6  # rows that a note names


def at_chance(
    line: Mapping[str, Any], metric: MetricDescription, chance: float | None
) -> bool | None:
    """Whether a table's line is no better than chance, over seeds or over other test sets.

    None where there is no chance level or no score, and for a score above chance that has neither
    an interval over seeds nor a sampling error.
    """
    mean, direction = line[f"{metric.name}_mean"], metric.direction
    if chance is None or mean is None:
        return None
    ends = [line[f"{metric.name}_{'low' if direction > 0 else 'high'}"]]
    if (error := line[f"{metric.name}_sampling_error"]) is not None:
        ends.append(mean - direction * error)
    known = [end for end in ends if end is not None]
    if not known and direction * mean > direction * chance:
        return None
    return bool(min(direction * end for end in [mean, *known]) <= direction * chance)


def chance_note(
    lines: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    metric: MetricDescription,
    chance: float | None,
) -> list[str]:
    """The chance level and which rows are not above it, in a sentence; nothing if unknown.

    names: of the lines, as a reader sees them.
    """
    if chance is None:
        return []
    found: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for name, line in zip(names, lines, strict=True):
        if line[f"{metric.name}_mean"] is not None:
            found[at_chance(line, metric, chance)].append(name)
    about = [f"not better than it: {_listed(found[True])}"] if found[True] else []
    if found[None]:
        about.append(
            f"cannot be said of {_listed(found[None])}: neither an interval over seeds nor a "
            "sampling error is known"
        )
    said = "; ".join(about) or "every row is better"
    return [f"Chance level of {metric.label}: {metric.format(chance)}; {said}."]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
