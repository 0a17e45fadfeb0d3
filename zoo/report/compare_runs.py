"""What changed between two runs: a verdict for every row that both have.

The tests of the metric and of the speeds of every row are one family: p-values are corrected for
all of them together (Holm 1979), so that fewer than one in twenty comparisons of two equal runs
reports any change. Memory is measured once and cannot be tested; a fixed tolerance decides. The
metric is tested as within a report (``stats.paired``). A row whose results are the same in both
runs is equal and does not count as a test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError, counted, listed
from zoo.report.comparable import changed_settings, environment_of, why_not_comparable
from zoo.report.compare_costs import REFERENCE, SETTINGS, Change, CostChanges, Verdict
from zoo.report.rows import Row
from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import ENOUGH, ROUNDING, Interval
from zoo.report.stats.paired import Difference, holm, pairs_of, tested
from zoo.report.stats.scores import scores_of
from zoo.sweep.records import Record

NOT_COMPARABLE = "not comparable"
UNSCORED = "not scored"  # in either run


@dataclass(frozen=True)
class ComparedRow:
    """One row of both runs. why: what the verdict is based on, or why there is none."""

    name: str
    cell: dict[str, str]
    baseline: str
    changes: list[Change]
    verdict: str
    why: str

    def change(self, quantity: str) -> Change:
        """The change of a quantity; one of nothing where it is not known."""
        return next((c for c in self.changes if c.metric == quantity), Change(quantity))


@dataclass(frozen=True)
class Comparison:
    """Two runs. added, gone: rows of one of them only, or that only one of them could run.

    metric: the one rows are compared by. reference: the cell that speed ratios are to, "" for
    none; costs: how costs were compared. environment, settings: versions and machine, and settings
    of rows, where they differ: the values before and after. tests: how many tests the verdicts are
    corrected for.
    """

    metric: MetricDescription
    rows: list[ComparedRow]
    added: dict[str, str]
    gone: dict[str, str]
    reference: str
    costs: str | None
    environment: dict[str, list[tuple[Any, Any]]]
    settings: dict[str, list[tuple[Any, Any]]]
    tests: int


def compare(before: RunReport, after: RunReport, reference: str = "") -> Comparison:
    """Compare two runs; ZooError where they have no row, or not their task, in common.

    reference: the cell that speeds are ratios to.
    """
    old, new = ({row.name: row for row in run.recorded_rows} for run in (before, after))
    _refuse_unlike(before, after)
    added = {name: "" for name in new if name not in old}
    gone = {name: "" for name in old if name not in new}
    pairs: list[tuple[Row, Row]] = []
    for name in (name for name in new if name in old):
        one, other = old[name], new[name]
        if one.only_skipped and not other.only_skipped:
            added[name] = f"before skipped: {one.failed[0].reason}"
        elif other.only_skipped and not one.only_skipped:
            gone[name] = f"skipped: {other.failed[0].reason}"
        else:
            pairs.append((one, other))
    settings: dict[str, list[tuple[Any, Any]]] = {}
    for twins in (twins for pair in pairs for twins in _twins(*pair)):
        for name, values in changed_settings(*twins).items():
            if values not in (known := settings.setdefault(name, [])):
                known.append(values)
    costs = CostChanges(old, new, reference, same_settings=not settings)
    scores = _score_changes((before, after), pairs)
    changes = [[score, *costs.of(*pair)] for score, pair in zip(scores, pairs, strict=True)]
    p_values = [change.p for of_row in changes for change in of_row]
    adjusted = iter(holm(p_values))
    rows = []
    for (one, other), of_row in zip(pairs, changes, strict=True):
        judged = [change.judged(next(adjusted)) for change in of_row]
        verdict, why = _lost_or_recovered(one, other) or _overall(judged)
        rows.append(ComparedRow(other.name, other.cell, other.baseline, judged, verdict, why))
    left, right = environment_of(before.records), environment_of(after.records)
    environment = {n: (left.get(n, ""), right.get(n, "")) for n in [*left, *right]}
    return Comparison(
        metric=after.metric,
        rows=rows,
        added=added,
        gone=gone,
        reference=costs.reference,
        costs=costs.how(),
        environment={name: [pair] for name, pair in environment.items() if pair[0] != pair[1]},
        settings=settings,
        tests=sum(p is not None for p in p_values),
    )


def _twins(one: Row, other: Row) -> list[tuple[Record, Record]]:
    """The trainings with the same seed, and the measurements of cost, of one row in both runs."""
    twins = [(one.trained[s], other.trained[s]) for s in one.trained if s in other.trained]
    return [*twins, *([(one.measured, other.measured)] if one.measured and other.measured else [])]


def _refuse_unlike(before: RunReport, after: RunReport) -> None:
    """Raise ZooError for runs without a row, a task or a metric in common."""
    old, new = ([row.name for row in run.recorded_rows] for run in (before, after))
    if not set(old) & set(new):
        raise ZooError(
            f"no cell in common: one run has {listed(old, 3)}, the other {listed(new, 3)}"
        )
    tasks = [run.records[-1].task for run in (before, after)]
    if tasks[0] != tasks[1]:
        raise ZooError(f"one run is of the task {tasks[0]}, the other of {tasks[1]}")
    if before.metric.label != after.metric.label:
        raise ZooError(
            f"one run is ranked by {before.metric.label}, the other by {after.metric.label}"
        )


def failure_reason(comparison: Comparison, fail_on: str) -> str | None:
    """Why ``zoo compare --fail-on`` fails, in a few words; None where it passes.

    ``worse``: a row is worse or mixed, or ran before and is skipped now; rows that are missing now
    do not count, so that a part of a grid can be checked. ``change``: anything changed. Both also
    fail where nothing could be compared.
    """
    verdicts = Counter(row.verdict for row in comparison.rows)
    if set(verdicts) <= {NOT_COMPARABLE}:
        return "nothing could be compared"
    counts = {"worse": verdicts["worse"], "mixed": verdicts["mixed"]}
    if fail_on == "change":
        counts |= {"better": verdicts["better"]}
        counts |= {"added": len(comparison.added), "gone": len(comparison.gone)}
    else:
        counts["skipped now"] = sum(bool(why) for why in comparison.gone.values())
    return ", ".join(f"{what}: {count}" for what, count in counts.items() if count) or None


def _why_untested(one: Row, other: Row) -> str | None:
    """Why the metric of a row cannot be compared; None where it can."""
    if not one.values or not other.values:
        return "not scored in both" if one.values or other.values else UNSCORED
    if one.failed or other.failed:
        return "a seed failed, and the others are those that went well"
    if not (twins := [(one.trained[s], other.trained[s]) for s in one.values if s in other.values]):
        return "no seed in common"
    return next(filter(None, (why_not_comparable(*pair) for pair in twins)), None)


def _score_changes(
    runs: tuple[RunReport, RunReport], pairs: Sequence[tuple[Row, Row]]
) -> list[Change]:
    """The metric of each row, after minus before over the seeds of both; tested as one family."""
    whys = [_why_untested(*pair) for pair in pairs]
    comparable = [pair for pair, why in zip(pairs, whys, strict=True) if why is None]
    count = len(comparable)
    tests: Iterator[Difference] = iter(())
    if comparable:
        scores = scores_of([pair[side] for side in (0, 1) for pair in comparable])
        places = np.arange(2 * count).reshape(2, -1)[::-1].T
        tests = iter(tested(scores, pairs_of(places, 2 * count)))
    changes = []
    for pair, why in zip(pairs, whys, strict=True):
        before, after = (_interval(run, row) for run, row in zip(runs, pair, strict=True))
        change = Change(runs[1].metric.label, why=why, before=before, after=after)
        changes.append(change if why else _tested(change, next(tests), pair, runs[1].metric))
    return changes


def _tested(
    change: Change, difference: Difference, rows: tuple[Row, Row], metric: MetricDescription
) -> Change:
    change = replace(change, value=difference.mean, low=difference.low, high=difference.high)
    if _same_results(*rows):
        return replace(change, adjusted=1.0, verdict="tie")
    if difference.p is None:
        seeds = counted(len(set(rows[0].values) & set(rows[1].values)), "seed")
        return replace(change, why=f"{seeds} in common, {ENOUGH} are needed")
    verdict: Verdict = "better" if metric.better(difference.mean) > 0 else "worse"
    return replace(change, p=difference.p, floor=difference.guarded(0.0), verdict=verdict)


def _same_results(one: Row, other: Row) -> bool:
    """Whether all seeds that both have gave the same values and, where known, the same errors."""
    return all(
        abs(one.values[seed] - other.values[seed]) < ROUNDING
        and np.array_equal(one.wrong.get(seed, ()), other.wrong.get(seed, ()))
        for seed in set(one.values) & set(other.values)
    )


def _interval(run: RunReport, row: Row) -> Interval | None:
    """The mean over seeds with its interval, which a deterministic fit has not."""
    interval = run.verdicts.intervals.get(row.name)
    return Interval(interval.mean) if interval and row.deterministic else interval


def _lost_or_recovered(one: Row, other: Row) -> tuple[str, str] | None:
    """The verdict where training or cost measurement succeeded in one run only; else None."""
    if lost := _failed_alone(other, one):
        return "worse", lost
    recovered = _failed_alone(one, other)
    return ("better", f"before: {recovered}") if recovered else None


def _failed_alone(row: Row, beside: Row) -> str | None:
    """How a row failed in what went well in the other run; None where it did not."""
    if (bad := row.bad) is None:
        return None
    cost = bad.kind == "cost"
    well = beside.measured if cost else beside.trained and not beside.failed
    where = "cost" if cost else f"seed {bad.seed}"
    return f"{bad.status} ({where}): {bad.reason}" if well else None


def _overall(changes: Sequence[Change]) -> tuple[str, str]:
    """The verdict on a row, and what it is based on."""
    worse, better, ties = (
        ", ".join(change.metric for change in changes if change.verdict == verdict)
        for verdict in ("worse", "better", "tie")
    )
    if worse and better:
        return "mixed", f"worse {worse}; better {better}"
    if worse or better:
        return "worse" if worse else "better", worse or better
    unknown = [change for change in changes if change.why]
    if not ties:
        return NOT_COMPARABLE, "; ".join(dict.fromkeys(str(change.why) for change in unknown))
    # What could not be compared is stated with a tie, or it would pass for one.
    known = (REFERENCE, SETTINGS, UNSCORED)
    return "tie", "; ".join(f"{c.metric}: {c.why}" for c in unknown if c.why not in known)
