"""What changed in speed and memory between two runs.

One machine's speed drifts between runs by more than most changes. So each speed is first divided by
the reference cell's, measured in the same blocks of its own run, and these ratios are compared. The
two runs are independent samples, so the variances of their logs add up. Where a setting differs on
purpose, the reference has the other setting too: then only memory is compared. Between two machines
only speeds are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from zoo.config.settings import MACHINE_FIELDS, machine_of
from zoo.report.comparable import why_not_comparable
from zoo.report.rows import Row
from zoo.report.stats.intervals import Interval
from zoo.report.stats.ratios import Speeds, base_of, combined, memory_verdict, wanted_cell
from zoo.sweep.records import Record

SPEEDS = {"train": "train speed", "infer": "inference speed"}  # by phase
MEMORY, PEAK = "memory", "peak_memory_mib"
REFERENCE = "the reference"
REFERENCE_DIFFERS = "the reference cell differs in these settings too"
UNMEASURED, ANOTHER_MACHINE = "not measured in both", "another machine"
Verdict = Literal["better", "worse", "tie"]


@dataclass(frozen=True)
class Change:
    """What changed in one quantity of a row.

    before, after: of the metric, the means over seeds with their own intervals. value: a difference
    of the metric, or a ratio (after over before) of speeds as ratios to the reference, or of
    memories; low, high: its 95% interval, not corrected. p: two-sided; adjusted: corrected. close:
    whether it is a ratio too close to 1 to count. verdict: None if unknown; why: the reason.
    """

    metric: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted: float | None = None
    close: bool = False
    verdict: Verdict | None = None
    why: str | None = None
    before: Interval | None = None
    after: Interval | None = None


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
        # The records of the rows that were measured in both, before and after.
        self.pairs: dict[str, tuple[Record, Record]] = {
            name: (before, after)
            for name, row in new.items()
            if (after := row.measured) and name in old and (before := old[name].measured)
        }
        sides = [list(rows.values()) for rows in (old, new)]
        self.reference = ""
        if not may_differ:
            cells = [row for row in sides[1] if row.name in self.pairs and not row.baseline]
            names = [row.name for row in cells]
            bases = [base_of(rows) for rows in reversed(sides)]
            # The wanted cell, else the later run's, else the earlier's.
            self.reference = next((base for base in bases if base in names), "")
            if reference:
                self.reference = wanted_cell(cells, reference, "was measured in both runs")
        self.speeds = [Speeds(rows, self.reference) for rows in sides]

    def of(self, one: Row, other: Row) -> list[Change]:
        """Training speed, inference speed and memory; nothing where neither was measured."""
        why: str | None = UNMEASURED
        if pair := self.pairs.get(one.name):
            why = why_not_comparable(*pair, self.may_differ)
        elif not one.measured and not other.measured:
            return []
        if why:
            return [Change(quantity, why=why) for quantity in (*SPEEDS.values(), MEMORY)]
        return [*(self._speed(phase, one.name) for phase in SPEEDS), self._memory(one.name)]

    def _why_no_ratio(self, name: str) -> str | None:
        """Why a row has no ratio to the reference; None where it has one."""
        if self.may_differ:
            return REFERENCE_DIFFERS
        if not self.reference:
            return "no reference cell was measured in both"
        return REFERENCE if name == self.reference else None

    def _speed(self, phase: str, name: str) -> Change:
        if why := self._why_no_ratio(name):
            return Change(SPEEDS[phase], why=why)
        weights = {name: 1.0, self.reference: -1.0}
        old, new = (speeds.sessions(phase, weights) for speeds in self.speeds)
        if not old or not new:
            return Change(SPEEDS[phase], why="not measured against the reference in both")
        inverse = [replace(session, logs=[-logs for logs in session.logs]) for session in old]
        contended = any(speeds.contended(*weights) for speeds in self.speeds)
        ratio = combined([*inverse, *new], contended)
        return Change(
            SPEEDS[phase],
            ratio.value,
            ratio.low,
            ratio.high,
            ratio.p,
            close=ratio.verdict == 0,
            why="too few blocks" if ratio.p is None else None,
        )

    def _memory(self, name: str) -> Change:
        """Peak memory in training, on one machine."""
        before, after = (record.metrics for record in self.pairs[name])
        if not before.get(PEAK) or not after.get(PEAK):
            return Change(MEMORY, why=UNMEASURED)
        how = [metrics.get("memory_how", "") for metrics in (before, after)]
        if how[0] != how[1]:
            return Change(MEMORY, why=f"measured differently: {how[0]} against {how[1]}")
        if _machine_changes(*self.pairs[name]):
            return Change(MEMORY, why=ANOTHER_MACHINE)
        ratio = after[PEAK] / before[PEAK]
        verdicts: dict[int, Verdict] = {1: "better", 0: "tie", -1: "worse"}
        return Change(MEMORY, ratio, verdict=verdicts[memory_verdict(ratio, 1.0)])

    def how(self) -> str | None:
        """How costs were compared, in a sentence; None where both runs measured no row."""
        if not self.pairs:
            return None
        if not self.reference:
            common = "the two runs have no reference cell in common"
            return f"Speeds are not compared: {REFERENCE_DIFFERS if self.may_differ else common}."
        changes = dict.fromkeys(c for pair in self.pairs.values() for c in _machine_changes(*pair))
        machine = "The same machine, whose speed drifts between runs"
        if changes:
            machine = f"Another machine ({', '.join(changes)})"
        ratio = f"each row's ratio to {self.reference} in its own run"
        return f"{machine}: speeds are compared as {ratio}."


def _machine_changes(one: Record, other: Record) -> list[str]:
    """What timings depend on and differs: ``threads 2 against 4``; empty for one machine."""
    before, after = (
        (*machine_of(r.environment), r.config.get("execution", {}).get("compile", False))
        for r in (one, other)
    )
    return [
        f"{name.replace('_', ' ')} {old or 'none'} against {new or 'none'}"
        for name, old, new in zip((*MACHINE_FIELDS, "compile"), before, after, strict=True)
        if old != new
    ]
