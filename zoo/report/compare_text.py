"""A comparison of two runs as a person reads it, and as plain values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from zoo.config.metric_description import MetricDescription
from zoo.errors import listed
from zoo.report.compare_costs import REFERENCE, Change
from zoo.report.compare_runs import ComparedRow, Comparison
from zoo.report.rows import varying
from zoo.report.stats.intervals import Interval
from zoo.report.tables.text import bullets, line, plain, ratio_text, tabulated
from zoo.report.tables.words import said

HEADS = {"train speed": "× train", "inference speed": "× infer", "memory": "× memory"}


def comparison_text(comparison: Comparison, before: str, after: str, markdown: bool = False) -> str:
    """The table of what changed, the rows that only one run has, and what the marks mean.

    A reason that several rows have is said once, below the table.
    """
    one_line = line if markdown else plain
    found = defaultdict(list)
    for row in comparison.rows:
        found[row.verdict, row.why].append(row.name)
    shared = {pair: names for pair, names in found.items() if pair[1] and len(names) > 1}
    rows = _table(comparison, [why for _, why in shared])
    heads = [head for head in rows[0] if any(row[head] for row in rows)] if rows else []
    cells = [[row[head] for head in heads] for row in rows]
    table = tabulated(cells, heads, "github" if markdown else "simple")
    sides = [one_line(f"before: {before}"), one_line(f"after: {after}")]
    notes = [
        f"{verdict}{'' if len(found) == 1 else f' ({listed(names, 3)})'}: {why}"
        for (verdict, why), names in shared.items()
    ]
    notes += _notes(comparison)
    lines = bullets([line(one) for one in notes]) if markdown else "\n".join(map(plain, notes))
    parts = (("  \n" if markdown else "\n").join(sides), table, lines)
    return "\n\n".join(part for part in parts if part)


def comparison_data(comparison: Comparison, before: str, after: str) -> dict[str, Any]:
    """The same as plain values, for JSON."""
    return {
        "before": before,
        "after": after,
        "reference": comparison.reference,
        "environment": {name: list(pair) for name, pair in comparison.environment.items()},
        "settings": {name: list(pair) for name, pair in comparison.settings.items()},
        "added": comparison.added,
        "gone": comparison.gone,
        "tests": comparison.tests,
        "rows": [asdict(row) for row in comparison.rows],
        "notes": _notes(comparison),
    }


def _table(comparison: Comparison, shared: Collection[str]) -> list[dict[str, str]]:
    cells = [row.cell for row in comparison.rows if not row.baseline]
    axes = list(varying(cells)) or (list(cells[0])[:2] if cells else ["attention"])
    return [_line(row, axes, comparison.metric, shared) for row in comparison.rows]


def _line(
    row: ComparedRow, axes: list[str], metric: MetricDescription, shared: Collection[str]
) -> dict[str, str]:
    shown = {axis: row.cell.get(axis, "") for axis in axes}
    if row.baseline:
        shown[axes[0]] = row.baseline
    changes = {change.metric: change for change in row.changes}
    scored = changes.get(metric.label, Change(metric.label))
    for head, mean, half in (
        (f"{metric.label} before", scored.before, scored.before_half),
        ("after", scored.after, scored.after_half),
    ):
        interval = Interval(mean, half).text(metric.digits) if mean is not None else ""
        shown[head] = interval
    shown["change"] = difference_text(metric, scored)
    for quantity, head in HEADS.items():
        shown[head] = _ratio(changes.get(quantity, Change(quantity)))
    own = row.why and row.why not in shared
    shown["verdict"] = f"{row.verdict}: {row.why}" if own else row.verdict
    return shown


def difference_text(metric: MetricDescription, change: Change) -> str:
    """A change of the ranking metric: ``+0.3 ± 0.4 points (tie)``; empty where unknown."""
    if change.value is None:
        return ""
    half = None
    if change.low is not None and change.high is not None:
        half = (change.high - change.low) / 2
    text = metric.format_difference(change.value, half)
    return f"{text} (tie)" if change.verdict == "tie" else text


def _ratio(change: Change) -> str:
    if change.value is None:
        return "reference" if change.why == REFERENCE else ""
    return ratio_text(change.value, change.verdict in ("better", "worse"))


def _notes(comparison: Comparison) -> list[str]:
    changes = [change for row in comparison.rows for change in row.changes]
    return said("comparison", comparison=comparison, changes=changes)
