"""A comparison of two runs as a person reads it, and as plain values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from zoo.errors import counted, listed
from zoo.report.compare_costs import MEMORY, REFERENCE, SPEEDS, Change
from zoo.report.compare_runs import ComparedRow, Comparison
from zoo.report.rows import varying
from zoo.report.stats.ratios import CONTENDED, MEMORY_TIE, UNDECIDED
from zoo.report.tables.text import bullets, line, plain, ratio_text, tabulated

HEADS = {SPEEDS["train"]: "× train", SPEEDS["infer"]: "× infer", MEMORY: "× memory"}


def comparison_text(comparison: Comparison, before: str, after: str, markdown: bool = False) -> str:
    """The table of what changed, the rows that only one run has, and what the marks mean.

    A reason that several rows have is said once, below the table.
    """
    one_line = line if markdown else plain
    names = defaultdict(list)
    for row in comparison.rows:
        names[row.verdict, row.why].append(row.name)
    shared = {pair: rows for pair, rows in names.items() if pair[1] and len(rows) > 1}
    cells = [row.cell for row in comparison.rows if not row.baseline]
    axes = list(varying(cells)) or (list(cells[0])[:2] if cells else ["attention"])
    lines = [_line(row, axes, comparison, [why for _, why in shared]) for row in comparison.rows]
    heads = [head for head in lines[0] if any(row[head] for row in lines)] if lines else []
    rows = [[row[head] for head in heads] for row in lines]
    table = tabulated(rows, heads, "github" if markdown else "simple")
    sides = [one_line(f"before: {before}"), one_line(f"after: {after}")]
    notes = [
        f"{verdict}{'' if len(names) == 1 else f' ({listed(rows_of, 3)})'}: {why}"
        for (verdict, why), rows_of in shared.items()
    ]
    notes = [one_line(note) for note in [*notes, *_notes(comparison)]]
    parts = (("  \n" if markdown else "\n").join(sides), table)
    below = bullets(notes) if markdown else "\n".join(notes)
    return "\n\n".join(part for part in (*parts, below) if part)


def comparison_data(comparison: Comparison, before: str, after: str) -> dict[str, Any]:
    """The same as plain values, for JSON."""
    data = asdict(comparison) | {"before": before, "after": after, "notes": _notes(comparison)}
    del data["metric"], data["costs"]  # in the notes
    return data


def _line(
    row: ComparedRow, axes: list[str], comparison: Comparison, shared: Collection[str]
) -> dict[str, str]:
    """Head to text; shared: reasons that are below the table."""
    metric = comparison.metric
    texts = {axis: row.cell.get(axis, "") for axis in axes}
    if row.baseline:
        texts[axes[0]] = row.baseline
    changes = {change.metric: change for change in row.changes}
    score = changes.get(metric.label, Change(metric.label))
    texts[f"{metric.label} before"] = score.before.text(metric.digits) if score.before else ""
    texts["after"] = score.after.text(metric.digits) if score.after else ""
    texts["change"] = ""
    if score.value is not None:
        half = None if score.high is None else score.high - score.value
        texts["change"] = metric.format_difference(score.value, half)
        texts["change"] += " (tie)" if score.verdict == "tie" else ""
    for quantity, head in HEADS.items():
        change = changes.get(quantity, Change(quantity))
        texts[head] = ratio_text(change.value, change.verdict in ("better", "worse"))
        if change.value is None and change.why == REFERENCE:
            texts[head] = "reference"
    own = row.why and row.why not in shared
    texts["verdict"] = f"{row.verdict}: {row.why}" if own else row.verdict
    return texts


def _notes(comparison: Comparison) -> list[str]:
    """What is below the table: which rows only one run has, what the marks mean, how to read it."""
    changes = [change for row in comparison.rows for change in row.changes]
    metric, notes = comparison.metric, []
    for what, names in (("Added", comparison.added), ("Gone", comparison.gone)):
        if names:
            rows = (f"{name} ({why})" if why else name for name, why in names.items())
            notes.append(f"{what}: {', '.join(rows)}.")
    if comparison.settings:
        notes.append(f"Settings that differ on purpose: {_arrows(comparison.settings)}.")
    if comparison.tests:
        notes.append(
            f"Change: difference of {metric.label}, paired by the seeds that both runs have, with "
            "its 95% interval; ×: after over before; ~: not told apart from 1. Verdicts are at "
            f"the 5% level after Holm's correction for {counted(comparison.tests, 'test')}: fewer "
            "than one in twenty comparisons of equal runs reports any change, memory apart."
        )
    if comparison.costs:
        notes.append(comparison.costs)
    if any(change.close for change in changes):
        notes.append(
            f"A change of speed within {UNDECIDED:.0%} is a tie, and where other work had the "
            f"cores one within {CONTENDED:.0%}."
        )
    if any(change.metric == MEMORY and change.verdict for change in changes):
        notes.append(
            f"Memory is measured once and not tested: a change within {MEMORY_TIE:.0%}, which "
            "measuring a cell again may show too, is a tie."
        )
    if comparison.environment:
        notes.append(f"Versions and machine: {_arrows(comparison.environment)}.")
    return notes


def _arrows(pairs: Mapping[str, tuple[Any, Any]]) -> str:
    """``epochs 6 → 12, batching none → random``."""
    known = {name: [v if v not in ("", None) else "none" for v in p] for name, p in pairs.items()}
    return ", ".join(f"{name} {before} → {after}" for name, (before, after) in known.items())
