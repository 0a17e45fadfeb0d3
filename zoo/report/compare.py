"""``zoo compare``: what changed between two runs, with a verdict for every row that both have.

Scores are paired by seed and tested as within a report (``stats.paired``). One machine's speed
drifts between runs by more than most changes, so each speed is first divided by the reference
cell's in the same blocks of its own run. The two runs are independent samples: the variances of
their log ratios add up. On a streamed diagnostic the examples until solved are compared, by the
exchange test (``stats.learning``). All tests are one family, corrected together (Holm 1979), so
that fewer than one in twenty comparisons of two equal runs reports any change. Memory is measured
once and cannot be tested: a fixed tolerance decides.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from zoo.config.metric_description import MetricDescription
from zoo.config.settings import machine_of
from zoo.errors import ZooError, counted, listed
from zoo.report.rows import ReportRow, environment_of, settings_of
from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import ALPHA, ENOUGH, ROUNDING
from zoo.report.stats.learning import Learning, exchanged
from zoo.report.stats.paired import holm, pairs_of, tested
from zoo.report.stats.ratios import (
    CONTENDED,
    MEMORY_TIE,
    UNDECIDED,
    Speeds,
    base_of,
    combined,
    memory_verdict,
)
from zoo.report.stats.scores import scores_of
from zoo.report.tables.text import plain, ratio_text, tabulated
from zoo.sweep.records import Record, shared_part

SPEEDS = {"train": "train speed", "infer": "inference speed"}  # by phase
MEMORY, PEAK, EXAMPLES = "memory", "peak_memory_mib", "examples until solved"
HEADS = {SPEEDS["train"]: "× train", SPEEDS["infer"]: "× infer", MEMORY: "× memory"}
HEADS |= {EXAMPLES: "× examples"}
NOT_COMPARABLE = "not comparable"
NAMED = 5  # rows that are named; the JSON has all
Pair = tuple[ReportRow, ReportRow]  # a row before and after


@dataclass(frozen=True)
class Change:
    """What changed in one quantity of a row.

    value: a difference of the metric, or a ratio (after over before). low, high: its 95% interval,
    not corrected. verdict: 1 better, 0 a tie, -1 worse; None if unknown, and why is the reason. p:
    two-sided, None without a test; adjusted: corrected, and no smaller than floor.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: int | None = None
    why: str = ""
    p: float | None = None
    floor: float = 0.0
    adjusted: float | None = None


@dataclass(frozen=True)
class ComparedRow:
    """One row of both runs.

    label: its short name. before, after: its scores. common: the number of seeds of both, which
    alone a change is of; None where each has the same seeds. changes: by quantity. verdict: a word;
    why: what it is based on, or why there is none.
    """

    name: str
    label: str
    before: str
    after: str
    common: int | None
    changes: dict[str, Change]
    verdict: str
    why: str


@dataclass(frozen=True)
class Comparison:
    """Two runs. added, gone: names of rows that only one of them has.

    metric: the one rows are compared by. settings: those of rows that differ, with the values
    before and after. notes: how to read the table, and versions and machines that differ.
    """

    metric: MetricDescription
    rows: list[ComparedRow]
    added: list[str]
    gone: list[str]
    settings: dict[str, list[tuple[Any, Any]]]
    notes: list[str]


def compare(before: RunReport, after: RunReport) -> Comparison:
    """Compare two runs; ZooError where they have no row, or not their task, in common."""
    rows, rows_now = ({row.name: row for row in run.recorded_rows} for run in (before, after))
    kinds = [f"{run.records[-1].task} by {run.metric.label}" for run in (before, after)]
    if kinds[0] != kinds[1]:
        raise ZooError(f"one run is of {kinds[0]}, the other of {kinds[1]}")
    pairs = [(rows[name], row) for name, row in rows_now.items() if name in rows]
    if not pairs:
        sides = listed(rows, NAMED), listed(rows_now, NAMED)
        raise ZooError(f"no row in common: one run has {sides[0]}, the other {sides[1]}")
    twins = (twins for pair in pairs for twins in _twins(*pair))
    settings = _differing([_settings(record) for record in pair] for pair in twins)
    reference = base_of([new for _, new in pairs])
    # With other settings the reference is another one too: ratios to it would hide the change.
    if settings or reference not in {new.name for old, new in pairs if old.measured}:
        reference = ""
    speeds = [Speeds([pair[side] for pair in pairs], reference) for side in (0, 1)]
    scores, changes = _score_changes(pairs), {}
    for old, new in pairs:
        of_row = {after.metric.label: scores[new.name]} if old.values or new.values else {}
        if old.learning and new.learning:
            of_row = {EXAMPLES: _learning_change(old.learning, new.learning, scores[new.name].why)}
        changes[new.name] = of_row | _cost_changes(old, new, reference, speeds)
    tests = [(row, key) for row in changes.values() for key in row if row[key].p is not None]
    for (row, key), p in zip(tests, holm([row[key].p for row, key in tests]), strict=True):
        adjusted = max(p or 0.0, row[key].floor)
        verdict = row[key].verdict if adjusted < ALPHA else 0
        row[key] = replace(row[key], adjusted=adjusted, verdict=verdict)
    compared = []
    for old, new in pairs:
        name, of_row = new.name, changes[new.name]
        texts = after.short_name(new), before.score_text(name), after.score_text(name)
        seeds = old.values.keys(), new.values.keys()
        common = None if seeds[0] == seeds[1] else len(seeds[0] & seeds[1])
        compared.append(ComparedRow(name, *texts, common, of_row, *_verdict(old, new, of_row)))
    return Comparison(
        metric=after.metric,
        rows=compared,
        added=[name for name in rows_now if name not in rows],
        gone=[name for name in rows if name not in rows_now],
        settings=settings,
        notes=_notes(before, after, len(tests), reference, speeds),
    )


def failure_reason(comparison: Comparison) -> str | None:
    """Why ``zoo compare --fail-on worse`` fails, in a few words; None where it passes.

    It fails where a row is worse or mixed, and where nothing could be compared. Rows that are
    missing now do not count, so that a part of a grid can be checked.
    """
    verdicts = Counter(row.verdict for row in comparison.rows)
    if set(verdicts) <= {NOT_COMPARABLE}:
        return "nothing could be compared"
    return ", ".join(f"{v}: {verdicts[v]}" for v in ("worse", "mixed") if verdicts[v]) or None


def comparison_text(comparison: Comparison, before: str, after: str) -> str:
    """The two runs and the settings that differ, the table, and the notes."""
    head = [f"before: {before}", f"after: {after}"]
    if comparison.settings:
        head.append(f"settings that differ: {_arrows(comparison.settings)}")
    for what, names in (("added", comparison.added), ("gone", comparison.gone)):
        head += [f"{what}: {listed(names, NAMED)}"] if names else []
    rows = [_texts(row, comparison.metric) for row in comparison.rows]
    heads = [name for name in rows[0] if any(row[name] for row in rows)]
    table = tabulated([[row[name] for name in heads] for row in rows], heads)
    parts = "\n".join(map(plain, head)), table, "\n".join(map(plain, comparison.notes))
    return "\n\n".join(filter(None, parts))


def comparison_data(comparison: Comparison, before: str, after: str) -> dict[str, Any]:
    """The same as plain values, for JSON."""
    data = {"before": before, "after": after} | asdict(comparison)
    return data | {"metric": comparison.metric.label}


def _twins(old: ReportRow, new: ReportRow) -> list[tuple[Record, Record]]:
    """The trainings with the same seed, and the measurements of cost, of one row in both runs."""
    twins = [(old.trained[s], new.trained[s]) for s in old.trained if s in new.trained]
    return [*twins, *([(old.measured, new.measured)] if old.measured and new.measured else [])]


def _why_untested(old: ReportRow, new: ReportRow) -> str:
    """Why the metric of a row cannot be compared; empty where it can."""
    if not old.values or not new.values:
        return "not scored in both"
    if old.failed or new.failed:
        return "a seed failed, and the others are those that went well"
    if not (twins := [(old.trained[s], new.trained[s]) for s in old.values if s in new.values]):
        return "no seed in common"
    return next(filter(None, (why_not_comparable(*pair) for pair in twins)), "")


def _score_changes(pairs: Sequence[Pair]) -> dict[str, Change]:
    """Row name to the change of the metric over the seeds of both runs, tested as one family."""
    whys = {new.name: _why_untested(old, new) for old, new in pairs}
    changes = {name: Change(why=why) for name, why in whys.items()}
    known = [pair for pair in pairs if not whys[pair[1].name]]
    if not known:
        return changes
    scores = scores_of([pair[side] for side in (1, 0) for pair in known])
    places = np.arange(2 * len(known)).reshape(2, -1).T
    for (_, new), difference in zip(
        known, tested(scores, pairs_of(places, 2 * len(known))), strict=True
    ):
        change = Change(difference.mean, difference.low, difference.high)
        if abs(difference.mean) < ROUNDING and not difference.disputed:  # equal, and no test
            change = replace(change, verdict=0)
        elif difference.p is None:
            why = f"{counted(difference.seeds, 'seed')} in common, {ENOUGH} are needed"
            change = replace(change, why=why)
        else:
            verdict = 1 if new.metric.better(difference.mean) > 0 else -1
            change = replace(change, verdict=verdict, p=difference.p, floor=difference.guarded(0.0))
        changes[new.name] = change
    return changes


def _learning_change(old: Learning, new: Learning, why: str) -> Change:
    """Of what a row learns of a streamed diagnostic; why: it cannot be compared."""
    change = exchanged(new, old)
    if why or not change.pairs:
        return Change(why=why or "no rate and seed in common")
    verdict = 1 if change.ratio < 1 else -1
    return Change(change.ratio, change.low, change.high, verdict, p=change.p)


def _cost_changes(
    old: ReportRow, new: ReportRow, reference: str, speeds: Sequence[Speeds]
) -> dict[str, Change]:
    """Memory, and the speeds where there is a reference; nothing where neither was measured."""
    if not old.measured or not new.measured:
        lost = old.measured or new.measured
        return {MEMORY: Change(why="not measured in both")} if lost else {}
    if why := why_not_comparable(old.measured, new.measured):
        return {MEMORY: Change(why=why)}
    changes = {}
    for phase, quantity in SPEEDS.items() if reference not in ("", new.name) else ():
        changes[quantity] = _speed_change(phase, {new.name: 1.0, reference: -1.0}, speeds)
    before, after = (row.cost.get(PEAK) for row in (old, new))
    if before and after:
        changes[MEMORY] = Change(after / before, verdict=memory_verdict(after, before))
        if _measured_on(old.measured) != _measured_on(new.measured):
            changes[MEMORY] = Change(why="measured on another machine or in another way")
    return changes


def _speed_change(phase: str, weights: Mapping[str, float], speeds: Sequence[Speeds]) -> Change:
    old, new = (of_run.sessions(phase, weights) for of_run in speeds)
    if not old or not new:
        return Change(why="not measured against the reference in both")
    inverse = [replace(session, logs=[-logs for logs in session.logs]) for session in old]
    contended = any(of_run.contended(*weights) for of_run in speeds)
    ratio = combined([*inverse, *new], contended)
    why = "too few blocks" if ratio.p is None else ""
    return Change(ratio.value, ratio.low, ratio.high, ratio.verdict, why, ratio.p)


def _measured_on(record: Record) -> tuple[object, ...]:
    """What a peak of memory depends on besides the code."""
    compiled = record.config.get("execution", {}).get("compile", False)
    return *machine_of(record.environment), compiled, record.metrics.get("memory_how")


def _verdict(old: ReportRow, new: ReportRow, changes: Mapping[str, Change]) -> tuple[str, str]:
    """The verdict on a row, and what it is based on."""
    if lost := _failed_alone(new, old):
        return "worse", lost
    if recovered := _failed_alone(old, new):
        return "better", f"before: {recovered}"
    worse, tie, better = (
        ", ".join(what for what, change in changes.items() if change.verdict == verdict)
        for verdict in (-1, 0, 1)
    )
    if worse and better:
        return "mixed", f"worse {worse}; better {better}"
    if worse or better:
        return "worse" if worse else "better", worse or better
    # What could not be compared is stated with a tie, or it would pass for old.
    unknown = {what: change.why for what, change in changes.items() if change.why}
    if tie:
        return "tie", "; ".join(f"{what}: {why}" for what, why in unknown.items())
    return NOT_COMPARABLE, "; ".join(dict.fromkeys(unknown.values())) or "not scored"


def _failed_alone(row: ReportRow, beside: ReportRow) -> str | None:
    """How a row failed in what went well in the other run; None where it did not."""
    if (bad := row.bad) is None:
        return None
    well = beside.measured if bad.kind == "cost" else beside.trained and not beside.failed
    return f"{bad.status}: {bad.reason}" if well else None


def _settings(record: Record) -> dict[str, Any]:
    """Its settings under their names in ``zoo bench``, without those of how a job is executed."""
    settings = settings_of(record.config).items()
    return {n.partition(".")[2]: v for n, v in settings if not n.startswith("execution.")}


def _differing(pairs: Iterable[Sequence[Mapping[str, Any]]]) -> dict[str, list[tuple[Any, Any]]]:
    """The names whose values differ between the two of any pair, with both values."""
    differing: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    for old, new in pairs:
        for name in {**old, **new}:
            values = old.get(name), new.get(name)
            if values[0] != values[1] and values not in differing[name]:
                differing[name].append(values)
    return dict(differing)


def why_not_comparable(first: Record, second: Record) -> str | None:
    """Why two records cannot be compared: other data, or another split; None where they can."""
    sides = [
        {
            "data": shared_part(record.config, "data"),
            "validation share": record.config.get("training", {}).get("validation", 0.0),
            "training split": record.config["data"].get("train"),
            "test split": record.config["data"].get("test"),
        }
        for record in (first, second)
    ]
    differing = _differing([sides]).items()
    return next((f"other {what}: {old} against {new}" for what, [(old, new)] in differing), None)


def _texts(row: ComparedRow, metric: MetricDescription) -> dict[str, str]:
    """What the table shows of a row, by the head of the column."""
    score, difference = row.changes.get(metric.label, Change()), ""
    if score.value is not None:
        half = None if score.high is None else score.high - score.value
        tie = " (tie)" if score.verdict == 0 else ""
        of = "" if row.common is None else f", {counted(row.common, 'common seed')}"
        difference = metric.format_difference(score.value, half) + of + tie
    costs = {head: row.changes.get(quantity, Change()) for quantity, head in HEADS.items()}
    return {
        "row": row.label,
        f"{metric.label} before": row.before,
        "after": row.after,
        "change": difference,
        **{head: ratio_text(change.value, change.verdict) for head, change in costs.items()},
        "verdict": f"{row.verdict}: {row.why}" if row.why else row.verdict,
    }


def _notes(
    before: RunReport, after: RunReport, tests: int, reference: str, speeds: Sequence[Speeds]
) -> list[str]:
    """How to read the table, and what else differs."""
    notes = []
    if tests:
        notes.append(
            f"Change: difference of {after.metric.label}, paired by the seeds that both runs "
            "have, with its 95% interval; ×: after over before; ~: not told apart from 1. Verdicts "
            f"are at the 5% level after Holm's correction for {counted(tests, 'test')}."
        )
    if any(of_run.measured for of_run in speeds):
        compared = (
            f"Speeds are ratios to {reference} of the same run, and within {UNDECIDED:.0%} "
            f"({CONTENDED:.0%} where other work had the cores) they are a tie."
            if reference
            else "Speeds are not compared: the runs have no reference cell with equal settings."
        )
        notes.append(f"{compared} Memory is not tested: within {MEMORY_TIE:.0%} it is a tie.")
    differing = _differing([[environment_of(run.records) for run in (before, after)]])
    return [*notes, *([f"Versions and machine: {_arrows(differing)}."] if differing else [])]


def _arrows(differing: Mapping[str, Sequence[tuple[Any, Any]]]) -> str:
    """``epochs 6 → 12, batching none → random``."""

    def known(value: Any) -> Any:
        return "none" if value in ("", None) else value

    return ", ".join(
        f"{name} {' or '.join(f'{known(old)} → {known(new)}' for old, new in values)}"
        for name, values in differing.items()
    )
