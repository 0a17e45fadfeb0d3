"""Settings chosen for each row on a held-out part of the training split, and their weight."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

from zoo.report.rows import Row
from zoo.report.tables.text import plain
from zoo.wording import counted

Values = tuple[float, ...]


def tuning_notes(rows: Sequence[Row]) -> list[str]:
    """Which values were tried and how, and the row whose score depends most on them.

    And which rows were not trained with the values chosen.
    """
    return [*_tuned(rows), *_not_trained(rows)]


def _not_trained(rows: Sequence[Row]) -> list[str]:
    """What is missing of rows that have tuning trials alone."""
    named = [f"{plain(row.name, 60)} ({row.tried})" for row in rows if row.only_tuned]
    if not named:
        return []
    return [
        f"Not trained: {', '.join(named)}. The training with the chosen values is missing; the "
        "same command goes on from there."
    ]


def _tuned(rows: Sequence[Row]) -> list[str]:
    scores = {row.name: found for row in rows if row.chosen and (found := trial_scores(row))}
    if not scores:
        return []
    tuned = [row for row in rows if row.name in scores]
    metric, trial = tuned[0].metric, tuned[0].trials[0]
    tuning = trial.config["tuning"]
    values = " and ".join(f"{name} of {_text(values)}" for name, values in tuning["values"].items())
    part = f"{tuning['share']:.0%} of the training split"
    if trial.config["data"].get("validation"):
        part = "the validation split"
    lines = [
        f"Each row was trained with {values.replace('_', ' ')} and scored on "
        f"{part} ({counted(tuning['seeds'], 'seed')}); the "
        "first value within a standard error of the best is in the table, and was then trained on "
        "the whole training split."
    ]
    spans = {
        row.name: max(scores[row.name].values()) - min(scores[row.name].values()) for row in tuned
    }
    most = max(tuned, key=lambda row: spans[row.name])
    listed = ", ".join(
        f"{metric.format(score)} at {_text(values)}" for values, score in scores[most.name].items()
    )
    lines.append(f"Most depends on it for {plain(most.name, 60)}: {metric.label} {listed}.")
    common = [values for values in scores[most.name] if all(values in s for s in scores.values())]
    best = {values: _best(tuned, scores, values) for values in common}
    if best and not set.intersection(*map(set, best.values())):
        named = "; ".join(f"at {_text(values)} {_either(names)}" for values, names in best.items())
        lines.append(f"With one value for all rows, the best row would depend on it: {named}.")
    return lines


def trial_scores(row: Row) -> dict[Values, float]:
    """Values of the tuned settings, in the order given, to the mean score of trials with them.

    Values are missing where every trial failed.
    """
    found: dict[Values, list[float]] = {}
    for record in row.trials:
        score = record.metrics.get(row.metric.name)
        if record.status == "ok" and score is not None:
            training = record.config["training"]
            values = tuple(training[name] for name in record.config["tuning"]["values"])
            found.setdefault(values, []).append(score)
    tried = itertools.product(*row.trials[0].config["tuning"]["values"].values())
    return {values: statistics.fmean(found[values]) for values in tried if values in found}


def _text(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _best(rows: Sequence[Row], scores: dict[str, dict[Values, float]], values: Values) -> list[str]:
    """The rows with the best score where all have the same values; several where it is equal."""
    better = rows[0].metric.better
    best = max(better(scores[row.name][values]) for row in rows)
    return [row.name for row in rows if better(scores[row.name][values]) == best]


def _either(names: Sequence[str]) -> str:
    """``a``, ``a or b``, ``a or 3 others``."""
    first, *others = (plain(name, 60) for name in names)
    if len(others) > 1:
        return f"{first} or {len(others)} others"
    return " or ".join([first, *others])
