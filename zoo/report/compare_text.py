"""A comparison of two runs as a person reads it, and as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from zoo.errors import counted
from zoo.report.compare_costs import MEMORY, REFERENCE, SPEEDS
from zoo.report.compare_runs import ComparedRow, Comparison
from zoo.report.rows import varying
from zoo.report.tables.columns import ALWAYS, Column
from zoo.report.tables.table import Table
from zoo.report.tables.text import bullets, line, plain, ratio_text

HEADS = {SPEEDS["train"]: "× train", SPEEDS["infer"]: "× infer", MEMORY: "× memory"}


def comparison_text(comparison: Comparison, before: str, after: str, markdown: bool = False) -> str:
    """The two runs and the settings that differ, the table, and at most four notes."""
    one_line = line if markdown else plain
    head = [f"before: {before}", f"after: {after}"]
    if comparison.settings:
        head.append(f"settings that differ: {_arrows(comparison.settings)}")
    table = Table(comparison.rows, _columns(comparison), [])
    notes = [one_line(note) for note in _notes(comparison)]
    parts = (
        ("  \n" if markdown else "\n").join(map(one_line, head)),
        table.text("github" if markdown else "simple") if comparison.rows else "",
        bullets(notes) if markdown else "\n".join(notes),
    )
    return "\n\n".join(filter(None, parts))


def comparison_data(comparison: Comparison, before: str, after: str) -> dict[str, Any]:
    """The same as plain values, for JSON."""
    data = asdict(comparison) | {"before": before, "after": after, "notes": _notes(comparison)}
    del data["metric"], data["costs"]  # in the notes
    return data


def _columns(comparison: Comparison) -> list[Column]:
    cells = [row.cell for row in comparison.rows if not row.baseline]
    axes = list(varying(cells)) or (list(cells[0])[:2] if cells else ["attention"])
    metric = comparison.metric

    def choice(axis: str, row: ComparedRow) -> str:
        return row.baseline if row.baseline and axis == axes[0] else row.cell.get(axis, "")

    def mean(side: str, row: ComparedRow) -> str:
        interval = getattr(row.change(metric.label), side)
        return interval.text(metric.digits) if interval else ""

    def difference(row: ComparedRow) -> str:
        score = row.change(metric.label)
        if score.value is None:
            return ""
        half = None if score.high is None else score.high - score.value
        tie = " (tie)" if score.verdict == "tie" else ""
        return metric.format_difference(score.value, half) + tie

    def ratio(quantity: str, row: ComparedRow) -> str:
        cost = row.change(quantity)
        apart = cost.verdict in ("better", "worse")
        return "reference" if cost.why == REFERENCE else ratio_text(cost.value, apart)

    def verdict(row: ComparedRow) -> str:
        return f"{row.verdict}: {row.why}" if row.why else row.verdict

    texts: dict[str, Callable[[ComparedRow], str]] = {a: partial(choice, a) for a in axes}
    texts[f"{metric.label} before"] = partial(mean, "before")
    texts |= {"after": partial(mean, "after"), "change": difference}
    texts |= {head: partial(ratio, quantity) for quantity, head in HEADS.items()}
    texts["verdict"] = verdict
    return [Column(head, head, "", 0, ALWAYS, text, text) for head, text in texts.items()]


def _notes(comparison: Comparison) -> list[str]:
    """Which rows only one run has, how to read the table, and what else differs."""
    notes, only = [], []
    for what, names in (("Added", comparison.added), ("Gone", comparison.gone)):
        if names:
            rows = (f"{name} ({why})" if why else name for name, why in names.items())
            only.append(f"{what}: {', '.join(rows)}.")
    if only:
        notes.append(" ".join(only))
    if comparison.tests:
        notes.append(
            f"Change: difference of {comparison.metric.label}, paired by the seeds that both runs "
            "have, with its 95% interval; ×: after over before; ~: not told apart from 1. Verdicts "
            f"are at the 5% level after Holm's correction for {counted(comparison.tests, 'test')}."
        )
    if comparison.costs:
        notes.append(comparison.costs)
    if comparison.environment:
        notes.append(f"Versions and machine: {_arrows(comparison.environment)}.")
    return notes


def _arrows(differing: Mapping[str, Sequence[tuple[Any, Any]]]) -> str:
    """``epochs 6 → 12, batching none → random``."""

    def known(value: Any) -> Any:
        return "none" if value in ("", None) else value

    return ", ".join(
        f"{name} {' or '.join(f'{known(old)} → {known(new)}' for old, new in values)}"
        for name, values in differing.items()
    )
