"""``zoo compare``: what changed between two runs, with a verdict for every row that both have.

Scores are paired by seed and tested as within a report (``stats.paired``), as one family that is
corrected together (Holm 1979), so that fewer than one in twenty comparisons of two equal runs
reports any change. Costs are not compared: one machine's speed drifts between runs by more than
most changes, and a ratio to a reference hides what changed in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError, counted, listed
from zoo.report.rows import ReportRow
from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import ENOUGH, ROUNDING
from zoo.report.stats.paired import Difference, judged, pairs_of, tested
from zoo.report.stats.scores import scores_of
from zoo.report.tables.notes import mixed
from zoo.report.tables.text import plain, tabulated
from zoo.sweep.records import Record, shared_part

NOT_COMPARABLE = "not comparable"
NAMED = 5  # rows that are named; the JSON has all
Pair = tuple[ReportRow, ReportRow]  # a row before and after


@dataclass(frozen=True)
class ComparedRow:
    """One row of both runs.

    label: its short name. before, after: its scores. difference: after less before, over the seeds
    of both; None where it cannot be compared. verdict: ``better``, ``tie``, ``worse`` or ``not
    comparable``; why: what it is based on besides the difference, or why there is none.
    """

    name: str
    label: str
    before: str
    after: str
    difference: Difference | None
    verdict: str
    why: str


@dataclass(frozen=True)
class Comparison:
    """Two runs. added, gone: names of rows that only one of them has.

    metric: the one rows are compared by. notes: how to read the table, and which settings, states
    of the code and machines differ.
    """

    metric: MetricDescription
    rows: list[ComparedRow]
    added: list[str]
    gone: list[str]
    notes: list[str]


def compare(before: RunReport, after: RunReport) -> Comparison:
    """Compare two runs; ZooError where they have no row, or not their task, in common.

    Also for streamed diagnostics, on which a mean over what is solved or not says little.
    """
    if before.learning or after.learning:
        raise ZooError(
            "streamed diagnostics are not compared by their scores; 'zoo bench --against DIR' "
            "trains rows beside those of a run"
        )
    rows, rows_now = ({row.name: row for row in run.recorded_rows} for run in (before, after))
    kinds = [f"{run.records[-1].task} by {run.metric.label}" for run in (before, after)]
    if kinds[0] != kinds[1]:
        raise ZooError(f"one run is of {kinds[0]}, the other of {kinds[1]}")
    pairs = [(rows[name], row) for name, row in rows_now.items() if name in rows]
    if not pairs:
        sides = listed(rows, NAMED), listed(rows_now, NAMED)
        raise ZooError(f"no row in common: one run has {sides[0]}, the other {sides[1]}")
    differences = _differences([pair for pair in pairs if not _why_untested(*pair)])
    compared = []
    for old, new in pairs:
        name, difference = new.name, differences.get(new.name)
        texts = after.short_name(new), before.score_text(name), after.score_text(name)
        compared.append(ComparedRow(name, *texts, difference, *_verdict(old, new, difference)))
    notes = []
    if tests := sum(d.p is not None for d in differences.values()):
        notes.append(
            f"Change: difference of {after.metric.label}, paired by the seeds that both runs "
            "have, with its 95% interval. Verdicts are at the 5% level after Holm's correction for "
            f"{counted(tests, 'test')}."
        )
    used = [record for pair in pairs for row in pair for record in row.used]
    return Comparison(
        metric=after.metric,
        rows=compared,
        added=[name for name in rows_now if name not in rows],
        gone=[name for name in rows if name not in rows_now],
        notes=[*notes, *mixed(used, used)],
    )


def comparison_text(comparison: Comparison, before: str, after: str) -> str:
    """The two runs, the table, and the notes."""
    head = [f"before: {before}", f"after: {after}"]
    for what, names in (("added", comparison.added), ("gone", comparison.gone)):
        head += [f"{what}: {listed(names, NAMED)}"] if names else []
    metric, rows = comparison.metric, []
    for row in comparison.rows:
        difference = row.difference
        change = metric.format_difference(difference.mean, difference.half) if difference else ""
        verdict = f"{row.verdict}: {row.why}" if row.why else row.verdict
        rows.append([row.label, row.before, row.after, change, verdict])
    table = tabulated(rows, ["row", f"{metric.label} before", "after", "change", "verdict"])
    parts = "\n".join(map(plain, head)), table, "\n".join(map(plain, comparison.notes))
    return "\n\n".join(filter(None, parts))


def comparison_data(comparison: Comparison, before: str, after: str) -> dict[str, Any]:
    """The same as plain values, for JSON."""
    data = {"before": before, "after": after} | asdict(comparison)
    return data | {"metric": comparison.metric.label}


def _why_untested(old: ReportRow, new: ReportRow) -> str:
    """Why the metric of a row cannot be compared; empty where it can."""
    if not old.values or not new.values:
        return "not scored in both"
    if old.failed or new.failed:
        return "a seed failed, and the others are those that went well"
    if not (twins := [(old.trained[s], new.trained[s]) for s in old.trained if s in new.trained]):
        return "no seed in common"
    return next(filter(None, (why_not_comparable(*pair) for pair in twins)), "")


def _differences(pairs: Sequence[Pair]) -> dict[str, Difference]:
    """Row name to the change over the seeds of both runs, tested as one family."""
    if not pairs:
        return {}
    scores = scores_of([pair[side] for side in (1, 0) for pair in pairs])
    places = np.arange(2 * len(pairs)).reshape(2, -1).T
    family = [
        # Equal results are a tie with any number of seeds, and no test.
        replace(d, p=None, equal=True) if abs(d.mean) < ROUNDING and not d.disputed else d
        for d in tested(scores, pairs_of(places, 2 * len(pairs)))
    ]
    return {new.name: d for (_, new), d in zip(pairs, judged(family), strict=True)}


def _verdict(old: ReportRow, new: ReportRow, difference: Difference | None) -> tuple[str, str]:
    """The verdict on a row, and what it is based on besides the difference."""
    if lost := _failed_alone(new, old):
        return "worse", lost
    if recovered := _failed_alone(old, new):
        return "better", f"before: {recovered}"
    if difference is None:
        return NOT_COMPARABLE, _why_untested(old, new)
    if difference.p is None and not difference.equal:
        common = counted(difference.seeds, "seed")
        return NOT_COMPARABLE, f"{common} in common, {ENOUGH} are needed"
    if not difference.real:
        return "tie", ""
    return ("better" if new.metric.better(difference.mean) > 0 else "worse"), ""


def _failed_alone(row: ReportRow, beside: ReportRow) -> str | None:
    """How a row failed in what went well in the other run; None where it did not."""
    if (bad := row.bad) is None:
        return None
    well = beside.measured if bad.kind == "cost" else beside.trained and not beside.failed
    return f"{bad.status}: {bad.reason}" if well else None


def why_not_comparable(first: Record, second: Record) -> str | None:
    """Why two records cannot be compared: other data, or another split; None where they can."""
    old, new = (
        {
            "data": shared_part(record.config, "data"),
            "validation share": record.config.get("training", {}).get("validation", 0.0),
            "training split": record.config["data"].get("train"),
            "test split": record.config["data"].get("test"),
        }
        for record in (first, second)
    )
    what = next((what for what in old if old[what] != new[what]), None)
    return f"other {what}: {old[what]} against {new[what]}" if what else None
