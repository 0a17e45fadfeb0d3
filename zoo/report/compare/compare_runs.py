"""What changed between two runs: a verdict for every row that both have.

Everything that is tested, the score and the speeds of every row, is one family: p-values are
corrected for all of it together (Holm 1979), so that of two equal runs fewer than one in twenty
comparisons calls any of that changed, however many rows there are. Memory is measured once, so it
cannot be tested and stands outside: it goes by a fixed tie. Scores are compared paired by
seed, as within a table. With fewer seeds than an interval takes, only the very models at hand can
be compared, document by document. What is found so is no ``better`` or ``worse`` of a row, for two
seeds of one and the same program differ as much: its verdict is ``models differ``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zoo.errors import ZooError
from zoo.report.compare.change import Change, other_settings
from zoo.report.compare.compare_cost import REFERENCE, Costs
from zoo.report.stats.intervals import ENOUGH, OverSeeds, over_seeds, t_half
from zoo.report.stats.paired import ALPHA, Term, difference, holm, p_of_votes
from zoo.report.tables.rows import Row, make_rows
from zoo.sweep.records import Record
from zoo.tasks.score import Score, scores_of

KINDS = ("trial", "probe")
MODELS_DIFFER = "models differ"


@dataclass(frozen=True)
class ComparedRow:
    """One row of both runs. why: what the verdict rests on, or why there is none."""

    name: str
    cell: dict[str, str]
    baseline: str
    changes: tuple[Change, ...]
    verdict: str
    why: str


@dataclass(frozen=True)
class Comparison:
    """Two runs. added, gone: rows of one of them alone, or that only one of them could run.

    score: the one that rows are compared by. reference: the cell that speeds are held against, ""
    where there is none; timing: how speeds were compared; environment: what the runs were made
    with, where it differs. tests: how many verdicts are corrected for.
    """

    score: Score
    rows: list[ComparedRow]
    added: dict[str, str]
    gone: dict[str, str]
    reference: str
    timing: str
    environment: dict[str, tuple[str, str]]
    tests: int


def compare(before: Sequence[Record], after: Sequence[Record], reference: str = "") -> Comparison:
    """Compare two runs; ZooError where they have no row, or not their task, in common."""
    old = {row.name: row for row in make_rows(before)}
    new = {row.name: row for row in make_rows(after)}
    common = [name for name in new if name in old]
    if not common:
        raise ZooError(
            f"no cell in common: one run has {_some(list(old))}, the other {_some(list(new))}"
        )
    if before[-1].task != after[-1].task:
        raise ZooError(
            f"one run is of the task {before[-1].task}, the other of {after[-1].task}: there is "
            "nothing to compare"
        )
    score = scores_of(after[-1].task)[0]
    costs = Costs(list(old.values()), list(new.values()), reference)
    added = {name: "" for name in new if name not in old}
    gone = {name: "" for name in old if name not in new}
    found: list[tuple[Row, Row, list[Change]]] = []
    for name in common:
        one, other = old[name], new[name]
        if (was := _never_ran(one)) | (now := _never_ran(other)) and not (was and now):
            reason = (other if now else one).failed[0].reason
            (gone if now else added)[name] = f"{'' if now else 'before '}skipped: {reason}"
            continue
        found.append((one, other, [_score(one, other), *costs.changes(one, other)]))
    tested = holm([c.p for _, _, changes in found for c in changes])
    adjusted = iter(tested)
    rows = [
        _row(one, other, [_judged(c, next(adjusted), score) for c in changes])
        for one, other, changes in found
    ]
    return Comparison(
        score,
        rows,
        added,
        gone,
        costs.reference,
        costs.told,
        _environment(before[-1], after[-1]),
        sum(p is not None for p in tested),
    )


def _score(one: Row, other: Row) -> Change:
    """The score that rows are ranked by, paired by the seeds that both have."""
    score = other.score
    before, after = (
        over_seeds(list(r.values.values()), score.lowest, score.highest) for r in (one, other)
    )
    change = Change(
        score.label,
        before=before.mean if before else None,
        after=after.mean if after else None,
        before_half=_half(before, one),
        after_half=_half(after, other),
    )
    if not before or not after:
        return replace(change, why="not scored in both" if before or after else "")
    if one.failed or other.failed:
        return replace(change, why="a seed was lost, and those left are the ones that went well")
    seeds = sorted(set(one.values) & set(other.values))
    if not seeds:
        return replace(change, why="no seed in common")
    for seed in seeds:
        if why := other_settings(one.trials[seed], other.trials[seed]):
            return replace(change, why=why)
    found = difference([Term(other, one)], seeds)
    assert found is not None
    change = replace(change, value=found.mean, seeds=len(seeds), p=found.p)
    if found.p is not None:
        return replace(change, low=found.interval.low, high=found.interval.high)
    few = f"{len(seeds)} seed{'' if len(seeds) == 1 else 's'} in common, it takes {ENOUGH}"
    if all(seed in row.wrong for row in (one, other) for seed in seeds):
        # A document counts once, however many of the seeds it was in dispute in.
        votes = [one.wrong[s].astype(float) - other.wrong[s] for s in seeds]
        p = p_of_votes(np.sum(votes, axis=0))
        return replace(change, p=p, models_only=True, why=f"of these models only: {few}")
    return replace(change, why=few)


def _half(found: OverSeeds | None, row: Row) -> float | None:
    """Half the interval as the table prints it."""
    if found is None or found.sd is None or len(row.values) < ENOUGH:
        return None
    return t_half(found.sd, len(row.values))


def _judged(change: Change, adjusted: float | None, score: Score) -> Change:
    """With its verdict where it was tested; memory brings its own."""
    if adjusted is None or change.value is None:
        return change
    if change.metric == score.label:
        grown, noise = score.better(change.value) > 0, False
    else:
        grown = change.value > 1
        noise = abs(np.log(change.value)) <= np.log1p(change.floor or 0.0)
    if adjusted >= ALPHA or noise:
        return replace(change, adjusted=adjusted, verdict="tie")
    return replace(change, adjusted=adjusted, verdict="better" if grown else "worse")


def _row(one: Row, other: Row, changes: list[Change]) -> ComparedRow:
    verdict, why = _outcome(one, other) or _verdict(changes)
    return ComparedRow(other.name, other.cell, other.baseline, tuple(changes), verdict, why)


def _outcome(one: Row, other: Row) -> tuple[str, str] | None:
    """The verdict where trials or the probe ended well in one run alone; else None."""
    lost = [why for kind in KINDS if _ended(one, kind) is None and (why := _ended(other, kind))]
    found = [why for kind in KINDS if _ended(other, kind) is None and (why := _ended(one, kind))]
    if lost and found:
        return "mixed", f"now: {'; '.join(lost)}; before: {'; '.join(found)}"
    if lost:
        return "worse", "; ".join(lost)
    return ("better", f"before: {'; '.join(found)}") if found else None


def _ended(row: Row, kind: str) -> str | None:
    """How a row's trials, or its probe, ended: None for well, "" for not run, else the reason."""
    bad = row.failed if kind == "trial" else [r for r in [row.probe] if r and r.status != "ok"]
    if bad:
        where = f"seed {bad[0].seed}" if kind == "trial" else kind
        return f"{bad[0].status} ({where}): {bad[0].reason}"
    return None if (row.trials if kind == "trial" else row.probe) else ""


def _verdict(changes: Sequence[Change]) -> tuple[str, str]:
    known = [c for c in changes if not c.models_only]
    said = {v: [c for c in known if c.verdict == v] for v in ("better", "worse", "tie")}
    models = [c for c in changes if c.models_only and c.verdict]
    if not any(said.values()) and not models:
        return "not comparable", "; ".join(dict.fromkeys(c.why for c in changes if c.why))
    limits = [f"{c.metric} {c.verdict}, {c.why}" for c in models]
    if said["better"] and said["worse"]:
        told = "; ".join(f"{v} {_metrics(said[v])}" for v in ("worse", "better"))
        return "mixed", "; ".join([told, *limits])
    for verdict in ("worse", "better"):
        if said[verdict]:
            return verdict, "; ".join([_metrics(said[verdict]), *limits])
    if any(c.verdict != "tie" for c in models):
        return MODELS_DIFFER, "; ".join(limits)
    # What could not be compared at all is told beside a tie, lest it pass for one.
    unknown = [f"{c.metric}: {c.why}" for c in changes if c.verdict is None and _matters(c)]
    return "tie", "; ".join([*limits, *unknown])


def _matters(change: Change) -> bool:
    return bool(change.why) and change.why != REFERENCE


def _metrics(changes: Sequence[Change]) -> str:
    return ", ".join(change.metric for change in changes)


def _never_ran(row: Row) -> bool:
    return not row.trials and not row.probes and all(r.status == "skipped" for r in row.failed)


def _environment(one: Record, other: Record) -> dict[str, tuple[str, str]]:
    """Versions and machine, where they differ."""
    sides = [_flat(record) for record in (one, other)]
    return {
        name: (sides[0].get(name, ""), sides[1].get(name, ""))
        for name in dict.fromkeys([*sides[0], *sides[1]])
        if sides[0].get(name) != sides[1].get(name)
    }


def _flat(record: Record) -> dict[str, str]:
    told = {
        name: str(value)
        for name, value in record.environment.items()
        if not isinstance(value, dict)
    }
    git = record.environment.get("git") or {}
    if git.get("commit"):
        told["commit"] = f"{git['commit'][:12]}{' (dirty)' if git.get('dirty') else ''}"
    return told | {f"plug-in {name}": version for name, version in record.plugins.items()}


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
