"""What changed in speed and memory between two runs.

One machine's speed drifts between runs by more than most changes. So each speed is first divided by
the reference cell's, measured in the same blocks of its own run, and these ratios are compared. The
two runs are independent samples, so the variances of their logs add up. Where a setting differs on
purpose, the reference has the other setting too: then only memory is compared.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from zoo.config.settings import MACHINE_FIELDS, machine_of
from zoo.report.comparable import why_not_comparable
from zoo.report.rows import Row
from zoo.report.stats.ratios import Speeds, base_of, combined, memory_verdict, wanted_cell
from zoo.sweep.records import Record

SPEEDS = {"train": "train speed", "infer": "inference speed"}  # by phase
REFERENCE = "the reference"
REFERENCE_DIFFERS = "the reference cell differs in these settings too"
Verdict = Literal["better", "worse", "tie"]


@dataclass(frozen=True)
class Change:
    """One quantity of one row, before and after.

    before, after: means over seeds, with half of their own 95% intervals; tokens/s or MiB if
    measured on one machine. value: a difference of the metric, or a ratio of speeds or memories
    (after over before; of speeds, and of memories on two machines, as ratios to the reference);
    low, high: its 95% interval, not corrected. p: two-sided; adjusted: corrected. close: whether it
    is a ratio too close to 1 to count. verdict: None if unknown, with the reason in ``why``.
    models_only: it is about these trained models, not about what training again would give.
    """

    metric: str
    before: float | None = None
    after: float | None = None
    before_half: float | None = None
    after_half: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    close: bool = False
    p: float | None = None
    adjusted: float | None = None
    seeds: int = 0
    models_only: bool = False
    verdict: Verdict | None = None
    why: str = ""


class CostChanges:
    """Changes of speed and memory. reference: the cell that ratios are to, "" for none."""

    def __init__(
        self,
        old: Mapping[str, Row],
        new: Mapping[str, Row],
        reference: str,
        may_differ: Collection[str],
    ) -> None:
        self.may_differ = may_differ
        # The rows that were measured in both, before and after.
        self.both = {n: (old[n], row) for n, row in new.items() if n in old}
        self.both = {n: pair for n, pair in self.both.items() if all(row.measured for row in pair)}
        sides = [list(rows.values()) for rows in (old, new)]
        bases = [base_of(rows) for rows in reversed(sides)]
        self.reference = "" if may_differ else self._common_reference(reference, bases)
        self.speeds = [Speeds(rows, self.reference) for rows in sides]

    def _common_reference(self, wanted: str, bases: list[str]) -> str:
        """A cell measured in both: the wanted one, else the later run's, else the earlier's."""
        cells = [row for _, row in self.both.values() if not row.baseline]
        if wanted:
            return wanted_cell(cells, wanted, "was measured in both runs")
        return next((base for base in bases if base in [row.name for row in cells]), "")

    def of(self, one: Row, other: Row) -> list[Change]:
        """Training speed, inference speed and memory; nothing where neither was measured."""
        old, new = one.measured, other.measured
        if old is None or new is None:
            why = "not measured in both"
        else:
            why = why_not_comparable(old, new, self.may_differ)
        if old is None or new is None or why:
            names = (*SPEEDS.values(), "memory") if old or new else ()
            return [Change(name, why=why) for name in names]
        return [*(self._speed(p, one.name, old, new) for p in SPEEDS), self._memory(old, new)]

    def _why_no_ratio(self, name: str) -> str:
        """Why a row has no ratio to the reference; empty where it has one."""
        if self.may_differ:
            return REFERENCE_DIFFERS
        if not self.reference:
            return "no reference cell was measured in both"
        return REFERENCE if name == self.reference else ""

    def _speed(self, phase: str, name: str, one: Record, other: Record) -> Change:
        change = Change(SPEEDS[phase], why=self._why_no_ratio(name))
        if not _machine_changes(one, other):
            rate = f"{phase}_tokens_per_s"
            change = replace(change, before=one.metrics.get(rate), after=other.metrics.get(rate))
        if change.why:
            return change
        weights = {name: 1.0, self.reference: -1.0}
        old, new = (speeds.sessions(phase, weights) for speeds in self.speeds)
        if not old or not new:
            return replace(change, why="not measured against the reference in both")
        inverse = [replace(one, logs=[-logs for logs in one.logs]) for one in old]
        contended = any(speeds.contended(*weights) for speeds in self.speeds)
        ratio = combined([*inverse, *new], contended)
        change = replace(change, value=ratio.value, low=ratio.low, high=ratio.high, p=ratio.p)
        why = "too few blocks" if ratio.p is None else ""
        return replace(change, close=ratio.verdict == 0, why=why)

    def _memory(self, one: Record, other: Record) -> Change:
        """Peak memory in training: directly on one machine, else over the reference's."""
        how = [record.metrics.get("memory_how", "") for record in (one, other)]
        peaks = [record.metrics.get("peak_memory_mib") for record in (one, other)]
        if not peaks[0] or not peaks[1]:
            return Change("memory", why="not measured in both")
        if how[0] != how[1]:
            return Change("memory", why=f"measured differently: {how[0]} against {how[1]}")
        ratio = peaks[1] / peaks[0]
        change = Change("memory", before=peaks[0], after=peaks[1])
        if _machine_changes(one, other):
            if why := self._why_no_ratio(one.name):
                about = why if why == REFERENCE else f"another machine, and {why}"
                return Change("memory", why=about)
            base = [row.cost.get("peak_memory_mib") for row in self.both[self.reference]]
            if not base[0] or not base[1]:
                return Change("memory", why="not measured for the reference")
            ratio *= base[0] / base[1]
            change = Change("memory")
        verdicts: dict[int, Verdict] = {1: "better", 0: "tie", -1: "worse"}
        return replace(change, value=ratio, verdict=verdicts[memory_verdict(ratio, 1.0)])

    def how(self) -> str:
        """How costs were compared, in a sentence; empty where both runs measured no row."""
        if not self.both:
            return ""
        if self.may_differ:
            return f"Speeds are not compared: {REFERENCE_DIFFERS}."
        if not self.reference:
            return "Speeds are not compared: the two runs have no reference cell in common."
        ratios = f"each row's ratio to {self.reference} in its own run"
        measured = [(one.measured, other.measured) for one, other in self.both.values()]
        known = [(one, other) for one, other in measured if one and other]
        if changes := dict.fromkeys(c for pair in known for c in _machine_changes(*pair)):
            return (
                f"Another machine ({', '.join(changes)}): speed and memory are compared only as "
                f"{ratios}."
            )
        return (
            f"The same machine, whose speed drifts between runs: speeds are compared as {ratios}."
        )


def _machine_changes(one: Record, other: Record) -> list[str]:
    """What timings depend on and differs: ``threads 2 against 4``; empty for one machine."""
    ours, theirs = (
        (*machine_of(r.environment), r.config.get("execution", {}).get("compile", False))
        for r in (one, other)
    )
    return [
        f"{name.replace('_', ' ')} {before or 'none'} against {after or 'none'}"
        for name, before, after in zip((*MACHINE_FIELDS, "compile"), ours, theirs, strict=True)
        if before != after
    ]
