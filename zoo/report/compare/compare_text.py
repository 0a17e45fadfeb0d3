"""A comparison of two runs as a person reads it, and as plain values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from zoo.registry import AXES
from zoo.report.compare.change import Change
from zoo.report.compare.compare_cost import REFERENCE
from zoo.report.compare.compare_runs import ComparedRow, Comparison
from zoo.report.stats.ratios import MEMORY_TIE
from zoo.report.tables.layout import counted, percent
from zoo.report.tables.markdown import bullets, line
from zoo.report.tables.text import plain
from zoo.tasks.score import Score

HEADS = {"train speed": "× train", "inference speed": "× infer", "memory": "× memory"}


def comparison_text(comparison: Comparison, before: str, after: str, markdown: bool = False) -> str:
    """The table of what changed, what only one run has, and what the marks mean."""
    from tabulate import tabulate

    told = line if markdown else plain
    rows = [_cells(row, comparison) for row in comparison.rows]
    heads = [head for head in rows[0] if any(row[head] for row in rows)] if rows else []
    table = tabulate(
        [[told(row[head]) for head in heads] for row in rows],
        headers=heads,
        tablefmt="github" if markdown else "simple",
        disable_numparse=True,
    )
    sides = [told(f"before: {before}"), told(f"after: {after}")]
    lines = [
        *_only("added", comparison.added),
        *_only("gone", comparison.gone),
        *_notes(comparison),
    ]
    notes = bullets([line(one) for one in lines]) if markdown else "\n".join(map(plain, lines))
    return "\n\n".join(
        part for part in (("  \n" if markdown else "\n").join(sides), table, notes) if part
    )


def comparison_data(comparison: Comparison, before: str, after: str) -> dict[str, Any]:
    """The same as plain values, for JSON."""
    return {
        "before": before,
        "after": after,
        "reference": comparison.reference,
        "environment": {name: list(pair) for name, pair in comparison.environment.items()},
        "added": comparison.added,
        "gone": comparison.gone,
        "tests": comparison.tests,
        "rows": [asdict(row) for row in comparison.rows],
        "notes": _notes(comparison),
    }


def _cells(row: ComparedRow, comparison: Comparison) -> dict[str, str]:
    """One line of the table: head to text."""
    cells = [r.cell for r in comparison.rows if not r.baseline]
    axes = [axis for axis in AXES if len({cell[axis] for cell in cells}) > 1]
    shown = {axis: row.cell.get(axis, "") for axis in axes or ["attention", "pe"]}
    if row.baseline:
        shown[next(iter(shown))] = row.baseline
    changes = {change.metric: change for change in row.changes}
    score = comparison.score
    scored = changes.get(score.label, Change(score.label))
    shown[f"{score.label} before"] = _mean(score, scored.before, scored.before_half)
    shown["after"] = _mean(score, scored.after, scored.after_half)
    shown["change"] = _change(score, scored)
    for metric, head in HEADS.items():
        shown[head] = _ratio(changes.get(metric, Change(metric)))
    shown["verdict"] = f"{row.verdict}: {row.why}" if row.why else row.verdict
    return shown


def _mean(score: Score, mean: float | None, half: float | None) -> str:
    if mean is None:
        return ""
    return score.form.format(mean) + (f" ± {score.form.format(half)}" if half is not None else "")


def _change(score: Score, change: Change) -> str:
    if change.value is None:
        return ""
    half = None
    if change.low is not None and change.high is not None:
        half = (change.high - change.low) / 2
    said = score.told(change.value, half)
    return f"{said} (tie)" if change.verdict == "tie" else said


def _ratio(change: Change) -> str:
    if change.value is None:
        return "reference" if change.why == REFERENCE else ""
    said = "tie" if change.verdict == "tie" else f"{change.value:.2f}"
    if change.low is None or change.high is None:
        return f"tie ({change.value:.2f})" if change.verdict == "tie" else said
    return f"{said} ({change.low:.2f} to {change.high:.2f})"


def _only(what: str, names: dict[str, str]) -> list[str]:
    if not names:
        return []
    told = [f"{name} ({why})" if why else name for name, why in names.items()]
    return [f"{what.capitalize()}: {', '.join(told)}."]


def _notes(comparison: Comparison) -> list[str]:
    changes = [change for row in comparison.rows for change in row.changes]
    lines = []
    if comparison.tests:
        lines.append(
            f"Change: difference of {comparison.score.label}, paired by the seeds that both runs "
            "have, with its 95% t-interval; ×: after over before, with the 95% t-interval over "
            "rounds. Each interval is by itself; verdicts are at 5% after Holm's correction for "
            f"{counted(comparison.tests, 'test')} here: chance alone tells a change in fewer than "
            "one of twenty comparisons of equal runs, memory aside."
        )
    if comparison.timing:
        lines.append(comparison.timing)
    floors = [change.floor for change in changes if change.floor is not None]
    if floors:
        lines.append(
            f"Noise floor: {percent(max(floors))} (both runs' own, added as squares); a speed "
            "within it is a tie."
        )
    if any(change.metric == "memory" and change.verdict for change in changes):
        lines.append(
            f"Memory is measured once and stands outside the tests: within {MEMORY_TIE:.0%}, which "
            "is what measuring a cell again may move it by, is a tie."
        )
    if any(change.models_only for change in changes):
        lines.append(
            f"Of these models only: with so few seeds the {comparison.score.of} on which the two "
            "models disagree are all there is to go by (McNemar's test); what training again would "
            "give, nobody can say, so no row is worse or better by it."
        )
    if comparison.environment:
        differ = [
            f"{name} {one or 'none'} → {other or 'none'}"
            for name, (one, other) in comparison.environment.items()
        ]
        lines.append(f"Made with: {', '.join(differ)}.")
    return lines
