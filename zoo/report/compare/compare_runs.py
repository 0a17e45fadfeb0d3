"""What changed between two runs: a verdict for every row that both have.

All tests, of the metric and of the speeds of every row, are one family: p-values are corrected for
all of them together (Holm 1979), so that fewer than one in twenty comparisons of two equal runs
reports any change, however many rows there are. Memory is measured once and cannot be tested; a
fixed tolerance decides instead. The metric is compared paired by seed, as within a table. With
fewer seeds than an interval needs, only the trained models themselves can be compared, example by
example. Such a result is never ``better`` or ``worse``, because two seeds of one program differ as
much: its verdict is ``models differ``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError
from zoo.report.compare.compare_cost import REFERENCE, Change, CostChanges
from zoo.report.rows import Row, make_rows
from zoo.report.stats.intervals import ENOUGH, over_seeds
from zoo.report.stats.paired import ALPHA, Term, difference, holm, p_of_votes
from zoo.report.stats.ratios import within
from zoo.report.tables.same_settings import why_not_comparable
from zoo.report.tables.text import counted
from zoo.sweep.records import Record

MODELS_DIFFER = "models differ"


@dataclass(frozen=True)
class ComparedRow:
    """One row of both runs. why: what the verdict is based on, or why there is none."""

    name: str
    cell: dict[str, str]
    baseline: str
    changes: tuple[Change, ...]
    verdict: str
    why: str


@dataclass(frozen=True)
class Comparison:
    """Two runs. added, gone: rows of one of them only, or that only one of them could run.

    metric: the one rows are compared by. reference: the cell that speed ratios are to, "" for
    none; costs: how costs were compared; environment: versions and machine, where they differ.
    tests: how many tests the verdicts are corrected for.
    """

    metric: MetricDescription
    rows: list[ComparedRow]
    added: dict[str, str]
    gone: dict[str, str]
    reference: str
    costs: str
    environment: dict[str, tuple[str, str]]
    tests: int


def compare(
    before: Sequence[Record], after: Sequence[Record], reference: str = "", metric_name: str = ""
) -> Comparison:
    """Compare two runs; ZooError where they have no row, or not their task, in common.

    metric_name: the metric to compare; empty for the task's first.
    """
    old = {row.name: row for row in make_rows(before, metric_name)}
    new = {row.name: row for row in make_rows(after, metric_name)}
    common = [name for name in new if name in old]
    if not common:
        raise ZooError(f"no cell in common: one run has {_some(old)}, the other {_some(new)}")
    if before[-1].task != after[-1].task:
        raise ZooError(
            f"one run is of the task {before[-1].task}, the other of {after[-1].task}: there is "
            "nothing to compare"
        )
    metric, other_metric = new[common[0]].metric, old[common[0]].metric
    if metric.name != other_metric.name:
        raise ZooError(
            f"one run is ranked by {other_metric.label}, the other by {metric.label}: there is "
            "nothing to compare"
        )
    costs = CostChanges(list(old.values()), list(new.values()), reference)
    added = {name: "" for name in new if name not in old}
    gone = {name: "" for name in old if name not in new}
    found: list[tuple[Row, Row, list[Change]]] = []
    for name in common:
        one, other = old[name], new[name]
        if one.only_skipped and not other.only_skipped:
            added[name] = f"before skipped: {one.failed[0].reason}"
        elif other.only_skipped and not one.only_skipped:
            gone[name] = f"skipped: {other.failed[0].reason}"
        else:
            found.append((one, other, [_metric_change(one, other), *costs.of(one, other)]))
    tested = holm([c.p for _, _, changes in found for c in changes])
    adjusted = iter(tested)
    rows = []
    for one, other, changes in found:
        judged = tuple(_with_verdict(c, next(adjusted), metric) for c in changes)
        verdict, why = _lost_or_recovered(one, other) or _overall(judged)
        rows.append(ComparedRow(other.name, other.cell, other.baseline, judged, verdict, why))
    ours, theirs = _flat_environment(before[-1]), _flat_environment(after[-1])
    environment = {n: (ours.get(n, ""), theirs.get(n, "")) for n in [*ours, *theirs]}
    return Comparison(
        metric,
        rows,
        added,
        gone,
        costs.reference,
        costs.how,
        {name: pair for name, pair in environment.items() if pair[0] != pair[1]},
        sum(p is not None for p in tested),
    )


def failure_reason(comparison: Comparison, fail_on: str) -> str:
    """Why ``zoo compare --fail-on`` fails, in a few words; empty where it passes.

    ``worse``: a row is worse or mixed, or ran before and is skipped now; rows that are missing now
    do not count, so that a part of a grid can be checked. ``change``: anything changed. Both also
    fail where nothing could be compared.
    """
    verdicts = [row.verdict for row in comparison.rows]
    if set(verdicts) <= {"not comparable"}:
        return "nothing could be compared"
    failing = ["worse", "mixed"]
    sides = {"skipped now": sum(bool(why) for why in comparison.gone.values())}
    if fail_on == "change":
        failing += ["better", MODELS_DIFFER]
        sides = {"added": len(comparison.added), "gone": len(comparison.gone)}
    counts = {verdict: verdicts.count(verdict) for verdict in failing} | sides
    return ", ".join(f"{what}: {count}" for what, count in counts.items() if count)


def _metric_change(one: Row, other: Row) -> Change:
    """The ranking metric, paired by the seeds that both have."""
    metric = other.metric
    before, after = (over_seeds(list(row.values.values())) for row in (one, other))
    change = Change(
        metric.label,
        before=before.mean if before else None,
        after=after.mean if after else None,
        before_half=before.half if before and not one.deterministic else None,
        after_half=after.half if after and not other.deterministic else None,
    )
    if not before or not after:
        return replace(change, why="not scored in both" if before or after else "")
    if one.failed or other.failed:
        return replace(change, why="a seed failed, and the others are those that went well")
    seeds = sorted(set(one.values) & set(other.values))
    if not seeds:
        return replace(change, why="no seed in common")
    for seed in seeds:
        if why := why_not_comparable(one.trained[seed], other.trained[seed]):
            return replace(change, why=why)
    found = difference([Term(other, one)], seeds)
    assert found is not None
    change = replace(change, value=found.mean, seeds=len(seeds), p=found.p)
    if found.p is not None:
        return replace(change, low=found.low, high=found.high)
    few = f"{counted(len(seeds), 'seed')} in common, {ENOUGH} are needed"
    if all(seed in row.wrong for row in (one, other) for seed in seeds):
        # An example counts once, in however many of the seeds the two models disagree on it.
        votes = [one.wrong[s].astype(float) - other.wrong[s] for s in seeds]
        p = p_of_votes(np.sum(votes, axis=0))
        return replace(change, p=p, models_only=True, why=f"for these models only: {few}")
    return replace(change, why=few)


def _with_verdict(change: Change, adjusted: float | None, metric: MetricDescription) -> Change:
    """With a verdict where it was tested; memory has its own."""
    if adjusted is None or change.value is None:
        return change
    if change.metric == metric.label:
        better, noise = metric.better(change.value) > 0, False
    else:
        better, noise = change.value > 1, within(change.value, change.floor)
    if adjusted >= ALPHA or noise:
        return replace(change, adjusted=adjusted, verdict="tie")
    return replace(change, adjusted=adjusted, verdict="better" if better else "worse")


def _lost_or_recovered(one: Row, other: Row) -> tuple[str, str] | None:
    """The verdict where training or cost measurement succeeded in one run only; else None."""
    pairs = [(_outcome(one, kind), _outcome(other, kind)) for kind in ("train", "cost")]
    lost = [now for before, now in pairs if before is None and now]
    recovered = [before for before, now in pairs if now is None and before]
    if lost and recovered:
        return "mixed", f"now: {'; '.join(lost)}; before: {'; '.join(recovered)}"
    if lost:
        return "worse", "; ".join(lost)
    return ("better", f"before: {'; '.join(recovered)}") if recovered else None


def _outcome(row: Row, kind: str) -> str | None:
    """How training or cost measurement ended: None for well, "" for not run, else the reason."""
    cost = [row.cost_record] if row.cost_record else []
    bad = row.failed if kind == "train" else [r for r in cost if r.status != "ok"]
    if bad:
        where = f"seed {bad[0].seed}" if kind == "train" else kind
        return f"{bad[0].status} ({where}): {bad[0].reason}"
    return None if (row.trained if kind == "train" else cost) else ""


def _overall(changes: Sequence[Change]) -> tuple[str, str]:
    retrained = [c for c in changes if not c.models_only]
    by = {v: [c for c in retrained if c.verdict == v] for v in ("worse", "better", "tie")}
    models = [c for c in changes if c.models_only and c.verdict]
    if not any(by.values()) and not models:
        return "not comparable", "; ".join(dict.fromkeys(c.why for c in changes if c.why))
    limits = [f"{c.metric} {c.verdict}, {c.why}" for c in models]
    names = {v: ", ".join(change.metric for change in by[v]) for v in ("worse", "better")}
    if by["better"] and by["worse"]:
        return "mixed", "; ".join([*(f"{v} {found}" for v, found in names.items()), *limits])
    for verdict in ("worse", "better"):
        if by[verdict]:
            return verdict, "; ".join([names[verdict], *limits])
    if any(c.verdict != "tie" for c in models):
        return MODELS_DIFFER, "; ".join(limits)
    # What could not be compared is stated with a tie, or it would pass for one.
    unknown = [c for c in changes if c.verdict is None and c.why not in ("", REFERENCE)]
    return "tie", "; ".join([*limits, *(f"{c.metric}: {c.why}" for c in unknown)])


def _flat_environment(record: Record) -> dict[str, str]:
    values = record.environment.items()
    flat = {name: str(value) for name, value in values if not isinstance(value, dict)}
    git = record.environment.get("git") or {}
    if git.get("commit"):
        flat["commit"] = f"{git['commit'][:12]}{' (dirty)' if git.get('dirty') else ''}"
    return flat | {f"plug-in {name}": version for name, version in record.plugins.items()}


def _some(rows: Mapping[str, Row]) -> str:
    more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    return f"{', '.join(list(rows)[:3])}{more}"
