"""What changed between two runs: a verdict for every row that both have.

The tests of the metric and of the speeds of every row are one family: p-values are corrected for
all of them together (Holm 1979), so that fewer than one in twenty comparisons of two equal runs
reports any change. Memory is measured once and cannot be tested; a fixed tolerance decides. The
metric is tested as within a report (``stats.paired``). A row whose results are the same in both
runs is equal and does not count as a test. With fewer seeds than an interval needs, the trained
models are compared example by example; because two seeds of one program differ as much, the
verdict is then ``models differ`` and never ``better`` or ``worse``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError, counted, listed
from zoo.report.comparable import changed_settings, why_not_comparable
from zoo.report.compare_costs import REFERENCE, REFERENCE_DIFFERS, Change, CostChanges, Verdict
from zoo.report.rows import Row
from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import ALPHA, ENOUGH
from zoo.report.stats.paired import Difference, holm, p_of_models, pairs_of, tested
from zoo.report.stats.scores import scores_of
from zoo.sweep.records import Record

MODELS_DIFFER = "models differ"
UNSCORED = "not scored"  # in either run
TOLD = ("", REFERENCE, REFERENCE_DIFFERS)  # told once for the whole table, not in a verdict


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
    settings: those that differ on purpose, with their values in both runs.
    tests: how many tests the verdicts are corrected for.
    """

    metric: MetricDescription
    rows: list[ComparedRow]
    added: dict[str, str]
    gone: dict[str, str]
    reference: str
    costs: str
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
    common = [name for name in new if name in old]
    if not common:
        raise ZooError(
            f"no cell in common: one run has {listed(old, 3)}, the other {listed(new, 3)}"
        )
    last, latest, metric = before.records[-1], after.records[-1], after.metric
    for what, again, ours, theirs in (
        ("of the task", "of", last.task, latest.task),
        ("ranked by", "by", before.metric.label, metric.label),
    ):
        if ours != theirs:
            raise ZooError(
                f"one run is {what} {ours}, the other {again} {theirs}: there is nothing to compare"
            )
    changed = changed_settings(last, latest)
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
    for name in common:
        one, other = old[name], new[name]
        if one.only_skipped and not other.only_skipped:
            added[name] = f"before skipped: {one.failed[0].reason}"
        elif other.only_skipped and not one.only_skipped:
            gone[name] = f"skipped: {other.failed[0].reason}"
        else:
            pairs.append((one, other))
    untested = [_why_untested(*pair, may_differ) for pair in pairs]
    places = [n for n, why in enumerate(untested) if not why]
    differences = dict(zip(places, _differences([pairs[n] for n in places]), strict=True))
    found = [
        [_scored((before, after), pair, differences.get(n), untested[n]), *costs.of(*pair)]
        for n, pair in enumerate(pairs)
    ]
    p_values = holm([change.p for changes in found for change in changes])
    adjusted = iter(p_values)
    rows = []
    for n, (one, other) in enumerate(pairs):
        judged = tuple(
            _judged(change, next(adjusted), metric, None if place else differences.get(n))
            for place, change in enumerate(found[n])
        )
        verdict, why = _lost_or_recovered(one, other) or _overall(judged)
        rows.append(ComparedRow(other.name, other.cell, other.baseline, judged, verdict, why))
    left, right = _flat_environment(before.records), _flat_environment(after.records)
    environment = {n: (left.get(n, ""), right.get(n, "")) for n in [*left, *right]}
    return Comparison(
        metric,
        rows,
        added,
        gone,
        costs.reference,
        costs.how(),
        {name: pair for name, pair in environment.items() if pair[0] != pair[1]},
        {name: changed[name] for name in may_differ},
        sum(p is not None for p in p_values),
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


def _why_untested(one: Row, other: Row, may_differ: Collection[str]) -> str:
    """Why the metric of a row cannot be compared; empty where it can."""
    if not one.values or not other.values:
        return "not scored in both" if one.values or other.values else UNSCORED
    if one.failed or other.failed:
        return "a seed failed, and the others are those that went well"
    seeds = sorted(set(one.values) & set(other.values))
    if not seeds:
        return "no seed in common"
    trained = ((one.trained[seed], other.trained[seed]) for seed in seeds)
    whys = (why_not_comparable(*pair, may_differ) for pair in trained)
    return next(filter(None, whys), "")


def _differences(pairs: Sequence[tuple[Row, Row]]) -> list[Difference]:
    """After minus before, of rows whose seeds in common may be compared."""
    if not pairs:
        return []
    count = len(pairs)
    scores = scores_of([pair[side] for side in (0, 1) for pair in pairs])
    first = scores.duplicates()
    found = tested(scores, pairs_of(np.arange(2 * count).reshape(2, -1)[::-1].T, 2 * count))
    return [replace(d, equal=bool(first[k] == first[count + k])) for k, d in enumerate(found)]


def _scored(
    runs: Sequence[RunReport], rows: tuple[Row, Row], found: Difference | None, why: str
) -> Change:
    """The change of the metric over the seeds that both have; why: it cannot be compared."""
    (one, other), (before, after) = rows, [run.verdicts.intervals.get(rows[0].name) for run in runs]
    change = Change(
        other.metric.label,
        before=before.mean if before else None,
        after=after.mean if after else None,
        before_half=before.half if before and not one.deterministic else None,
        after_half=after.half if after and not other.deterministic else None,
        why="" if why == UNSCORED else why,
    )
    if found is None:
        return change
    change = replace(change, value=found.mean, seeds=found.seeds)
    if found.p is not None:
        p = None if found.equal else found.p
        return replace(change, p=p, low=found.low, high=found.high)
    few = f"{counted(len(set(one.values) & set(other.values)), 'seed')} in common, "
    few += f"{ENOUGH} are needed"
    if (p := p_of_models(one, other)) is not None:
        return replace(change, p=p, models_only=True, why=f"for these models only: {few}")
    return replace(change, why=few)


def _judged(
    change: Change, adjusted: float | None, metric: MetricDescription, found: Difference | None
) -> Change:
    """With a verdict where it was tested; memory has its own. found: of the metric."""
    if found and found.equal and change.low is not None:
        return replace(change, adjusted=1.0, verdict="tie")
    if adjusted is None or change.value is None:
        return change
    if found:
        adjusted = adjusted if change.models_only else found.guarded(adjusted)
        better = metric.better(change.value) > 0
    else:
        better = change.value > 1
    tie = adjusted >= ALPHA or change.close
    verdict: Verdict = "tie" if tie else "better" if better else "worse"
    return replace(change, adjusted=adjusted, verdict=verdict)


def _lost_or_recovered(one: Row, other: Row) -> tuple[str, str] | None:
    """The verdict where training or cost measurement succeeded in one run only; else None."""
    pairs = [(_outcome(one, kind), _outcome(other, kind)) for kind in ("train", "cost")]
    lost = "; ".join(now for before, now in pairs if before is None and now)
    recovered = "; ".join(before for before, now in pairs if now is None and before)
    if lost and recovered:
        return "mixed", f"now: {lost}; before: {recovered}"
    if lost:
        return "worse", lost
    return ("better", f"before: {recovered}") if recovered else None


def _outcome(row: Row, kind: str) -> str | None:
    """How training or cost measurement ended: None for well, "" for not run, else the reason."""
    cost = [row.cost_record] if row.cost_record else []
    bad = row.failed if kind == "train" else [r for r in cost if r.status != "ok"]
    if bad:
        where = f"seed {bad[0].seed}" if kind == "train" else kind
        return f"{bad[0].status} ({where}): {bad[0].reason}"
    return None if (row.trained if kind == "train" else cost) else ""


def _overall(changes: Sequence[Change]) -> tuple[str, str]:
    """The verdict on a row, and what it is based on."""
    worse, better, tie = (
        ", ".join(c.metric for c in changes if c.verdict == verdict and not c.models_only)
        for verdict in ("worse", "better", "tie")
    )
    models = [c for c in changes if c.models_only and c.verdict]
    limits = [f"{c.metric} {c.verdict}, {c.why}" for c in models]
    if worse and better:
        return "mixed", "; ".join([f"worse {worse}", f"better {better}", *limits])
    if worse or better:
        return "worse" if worse else "better", "; ".join([worse or better, *limits])
    if any(c.verdict != "tie" for c in models):
        return MODELS_DIFFER, "; ".join(limits)
    if not tie and not models:
        return "not comparable", "; ".join(dict.fromkeys(c.why for c in changes if c.why))
    # What could not be compared is stated with a tie, or it would pass for one.
    unknown = [f"{c.metric}: {c.why}" for c in changes if c.verdict is None and c.why not in TOLD]
    return "tie", "; ".join([*limits, *unknown])


def _flat_environment(records: Sequence[Record]) -> dict[str, str]:
    """Machine and versions of the latest record, and the plug-ins of all."""
    record = records[-1]
    values = record.environment.items()
    flat = {name: str(value) for name, value in values if not isinstance(value, dict)}
    git = record.environment.get("git") or {}
    if git.get("commit"):
        flat["commit"] = f"{git['commit'][:12]}{' (dirty)' if git.get('dirty') else ''}"
    plugins = {name: version for r in records for name, version in r.plugins.items()}
    return flat | {f"plug-in {name}": version for name, version in plugins.items()}
