"""Rows against the chance level, where the data set knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zoo.config.metric_description import MetricDescription

NAMED = 6  # rows that a note names


def at_chance(line: Mapping[str, Any], metric: MetricDescription, chance: float | None) -> bool:
    """Whether a table's line is no better than chance, over seeds or over other test sets."""
    mean, direction = line[f"{metric.name}_mean"], metric.direction
    if chance is None or mean is None:
        return False
    ends = [mean, line[f"{metric.name}_{'low' if direction > 0 else 'high'}"]]
    if (error := line[f"{metric.name}_sampling_error"]) is not None:
        ends.append(mean - direction * error)
    return bool(min(direction * end for end in ends if end is not None) <= direction * chance)


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
    low = [name for name, line in zip(names, lines, strict=True) if at_chance(line, metric, chance)]
    named = ", ".join(low[:NAMED]) + (f" and {len(low) - NAMED} more" if len(low) > NAMED else "")
    about = f"not better than it: {named}" if low else "every row is better"
    return [f"Chance level of {metric.label}: {metric.format(chance)}; {about}."]
