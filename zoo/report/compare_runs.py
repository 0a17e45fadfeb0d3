"""What changed between two runs: a verdict for every row that both have.

The tests of the metric and of the speeds of every row are one family: p-values are corrected for
all of them together (Holm 1979), so that fewer than one in twenty comparisons of two equal runs
reports any change. Memory is measured once and cannot be tested; a fixed tolerance decides. The
metric is tested as within a report (``stats.paired``). A row whose results are the same in both
runs is equal and does not count as a test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError, counted, listed
from zoo.report.comparable import changed_settings, environment_of, why_not_comparable
from zoo.report.compare_costs import REFERENCE, REFERENCE_DIFFERS, Change, CostChanges, Verdict
from zoo.report.rows import Row
from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import ALPHA, ENOUGH, ROUNDING, Interval
from zoo.report.stats.paired import Difference, holm, pairs_of, tested
from zoo.report.stats.scores import scores_of

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


@dataclass(frozen=True)
class Comparison:
    """Two runs. added, gone: rows of one of them only, or that only one of them could run.

    metric: the one rows are compared by. reference: the cell that speed ratios are to, "" for
    none; costs: how costs were compared; environment: versions and machine, where they differ.
    settings: those that differ on purpose, with their values in both runs.
    tests: how many tests the verdicts are corrected for.
    """

    metric: MetricDescription
    rows: list[ComparedRow]
    added: dict[str, str]
    gone: dict[str, str]
    reference: str
    costs: str | None
    environment: dict[str, tuple[str, str]]
    settings: dict[str, tuple[Any, Any]]
    tests: int


def compare(
    before: RunReport, after: RunReport, reference: str = "", may_differ: Collection[str] = ()
) -> Comparison:
    """Compare two runs; ZooError where they have no row, or not their task, in common.

    reference: the cell that speeds are ratios to. may_differ: settings whose effect is what is
    compared, such as batching; any other that differs makes a row not comparable. ZooError where
    one of them is the same in both runs.
    """
    old, new = ({row.name: row for row in run.recorded_rows} for run in (before, after))
    _refuse_unlike(before, after)
    changed = changed_settings(before.records[-1], after.records[-1])
    for name in may_differ:
        if name not in changed:
            raise ZooError(
                f"--may-differ {name}: not a setting in which the runs differ. They differ in: "
                f"{', '.join(changed) or 'none'}"
            )
    costs = CostChanges(old, new, reference, may_differ)
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
    differences = _differences(pairs, may_differ)
    ratios = [costs.of(*pair) for pair in pairs]
    p_values = [None if isinstance(d, str) or d.equal else d.p for d in differences]
    p_values += [change.p for of_row in ratios for change in of_row]
    adjusted = iter(holm(p_values))
    scores = [
        _score_change((before, after), pair, difference, next(adjusted))
        for pair, difference in zip(pairs, differences, strict=True)
    ]
    rows = []
    for (one, other), score, of_row in zip(pairs, scores, ratios, strict=True):
        changes = [score, *(_judged(change, next(adjusted)) for change in of_row)]
        verdict, why = _lost_or_recovered(one, other) or _overall(changes)
        rows.append(ComparedRow(other.name, other.cell, other.baseline, changes, verdict, why))
    left, right = environment_of(before.records), environment_of(after.records)
    environment = {n: (left.get(n, ""), right.get(n, "")) for n in [*left, *right]}
    return Comparison(
        metric=after.metric,
        rows=rows,
        added=added,
        gone=gone,
        reference=costs.reference,
        costs=costs.how(),
        environment={name: pair for name, pair in environment.items() if pair[0] != pair[1]},
        settings={name: changed[name] for name in may_differ},
        tests=sum(p is not None for p in p_values),
    )


def _refuse_unlike(before: RunReport, after: RunReport) -> None:
    """Raise ZooError for runs without a row, a task or a metric in common."""
    names = [[row.name for row in run.recorded_rows] for run in (before, after)]
    if not set(names[0]) & set(names[1]):
        raise ZooError(
            f"no cell in common: one run has {listed(names[0], 3)}, the other {listed(names[1], 3)}"
        )
    for what, again, ours, theirs in (
        ("of the task", "of", before.records[-1].task, after.records[-1].task),
        ("ranked by", "by", before.metric.label, after.metric.label),
    ):
        if ours != theirs:
            raise ZooError(
                f"one run is {what} {ours}, the other {again} {theirs}: there is nothing to compare"
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


def _why_untested(one: Row, other: Row, may_differ: Collection[str]) -> str | None:
    """Why the metric of a row cannot be compared; None where it can."""
    if not one.values or not other.values:
        return "not scored in both" if one.values or other.values else UNSCORED
    if one.failed or other.failed:
        return "a seed failed, and the others are those that went well"
    seeds = sorted(set(one.values) & set(other.values))
    if not seeds:
        return "no seed in common"
    trained = ((one.trained[seed], other.trained[seed]) for seed in seeds)
    whys = (why_not_comparable(*pair, may_differ) for pair in trained)
    return next(filter(None, whys), None)


def _differences(
    pairs: Sequence[tuple[Row, Row]], may_differ: Collection[str]
) -> list[Difference | str]:
    """After minus before of each row, tested as one family; why not where it cannot be compared."""
    whys = [_why_untested(*pair, may_differ) for pair in pairs]
    comparable = [pair for pair, why in zip(pairs, whys, strict=True) if why is None]
    if not comparable:
        return [why or "" for why in whys]
    count = len(comparable)
    scores = scores_of([pair[side] for side in (0, 1) for pair in comparable])
    tests = tested(scores, pairs_of(np.arange(2 * count).reshape(2, -1)[::-1].T, 2 * count))
    differences = (
        replace(test, equal=_same_results(*pair))
        for test, pair in zip(tests, comparable, strict=True)
    )
    return [next(differences) if why is None else why for why in whys]


def _same_results(one: Row, other: Row) -> bool:
    """Whether all seeds that both have gave the same values and, where known, the same errors."""
    return all(
        abs(one.values[seed] - other.values[seed]) < ROUNDING
        and np.array_equal(one.wrong.get(seed, ()), other.wrong.get(seed, ()))
        for seed in set(one.values) & set(other.values)
    )


def _score_change(
    runs: tuple[RunReport, RunReport],
    rows: tuple[Row, Row],
    difference: Difference | str,
    adjusted: float | None,
) -> Change:
    """The change of the metric over the seeds that both have. adjusted: its corrected p-value."""
    metric = runs[1].metric
    before, after = (_interval(run, row) for run, row in zip(runs, rows, strict=True))
    change = Change(metric.label, before=before, after=after)
    if isinstance(difference, str):
        return replace(change, why=None if difference == UNSCORED else difference)
    change = replace(change, value=difference.mean, low=difference.low, high=difference.high)
    if difference.equal:
        return replace(change, adjusted=1.0, verdict="tie")
    if adjusted is None:
        seeds = counted(len(set(rows[0].values) & set(rows[1].values)), "seed")
        return replace(change, why=f"{seeds} in common, {ENOUGH} are needed")
    adjusted = difference.guarded(adjusted)
    verdict: Verdict = "better" if metric.better(difference.mean) > 0 else "worse"
    verdict = "tie" if adjusted >= ALPHA else verdict
    return replace(change, p=difference.p, adjusted=adjusted, verdict=verdict)


def _interval(run: RunReport, row: Row) -> Interval | None:
    """The mean over seeds with its interval, which a deterministic fit has not."""
    interval = run.verdicts.intervals.get(row.name)
    return Interval(interval.mean) if interval and row.deterministic else interval


def _judged(change: Change, adjusted: float | None) -> Change:
    """A ratio of speeds with its verdict, where it was tested; memory has its own."""
    if adjusted is None or change.value is None:
        return change
    verdict: Verdict = "better" if change.value > 1 else "worse"
    verdict = "tie" if change.close or adjusted >= ALPHA else verdict
    return replace(change, adjusted=adjusted, verdict=verdict)


def _lost_or_recovered(one: Row, other: Row) -> tuple[str, str] | None:
    """The verdict where training or cost measurement succeeded in one run only; else None."""
    lost, recovered = _failed_alone(other, one), _failed_alone(one, other)
    if lost and recovered:
        return "mixed", f"now: {lost}; before: {recovered}"
    if lost:
        return "worse", lost
    return ("better", f"before: {recovered}") if recovered else None


def _failed_alone(row: Row, beside: Row) -> str | None:
    """How a row failed in what went well in the other run; None where it did not."""
    if (bad := row.bad) is None:
        return None
    well = beside.measured if bad.kind == "cost" else beside.trained and not beside.failed
    where = "cost" if bad.kind == "cost" else f"seed {bad.seed}"
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
    unknown = [change for change in changes if change.why and change.verdict is None]
    if not ties:
        return NOT_COMPARABLE, "; ".join(dict.fromkeys(str(change.why) for change in unknown))
    # What could not be compared is stated with a tie, or it would pass for one. The notes say of
    # the whole table what the reference is.
    known = (REFERENCE, REFERENCE_DIFFERS)
    return "tie", "; ".join(f"{c.metric}: {c.why}" for c in unknown if c.why not in known)
