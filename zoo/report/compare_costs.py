"""What changed in speed and memory between two runs.

One machine's speed drifts between runs by more than most changes. So each speed is first divided by
the reference cell's, measured in the same blocks of its own run, and these ratios are compared. The
two runs are independent samples, so the variances of their logs add up. Where settings differ, the
reference has the other settings too: then only memory is compared. Between two machines only speeds
are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from zoo.config.settings import machine_of
from zoo.report.comparable import why_not_comparable
from zoo.report.rows import Row
from zoo.report.stats.intervals import ALPHA, Interval
from zoo.report.stats.ratios import (
    CONTENDED,
    MEMORY_TIE,
    UNDECIDED,
    Speeds,
    base_of,
    combined,
    memory_verdict,
    wanted_cell,
)
from zoo.sweep.records import Record

SPEEDS = {"train": "train speed", "infer": "inference speed"}  # by phase
MEMORY, PEAK = "memory", "peak_memory_mib"
REFERENCE = "the reference"
SETTINGS = "the reference cell differs in these settings too"
UNMEASURED = "not measured in both"
Verdict = Literal["better", "worse", "tie"]


@dataclass(frozen=True)
class Change:
    """What changed in one quantity of a row.

    before, after: of the metric, the means over seeds with their own intervals. value: a difference
    of the metric, or a ratio (after over before) of speeds as ratios to the reference, or of
    memories; low, high: its 95% interval, not corrected. p: two-sided; adjusted: corrected, and no
    smaller than floor. verdict: None if unknown; why: the reason.
    """

    metric: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    floor: float = 0.0
    adjusted: float | None = None
    verdict: Verdict | None = None
    why: str | None = None
    before: Interval | None = None
    after: Interval | None = None

    def judged(self, adjusted: float | None) -> Change:
        """With its corrected p-value: a tie unless significant. None: it was not tested."""
        if adjusted is None:
            return self
        adjusted = max(adjusted, self.floor)
        return replace(self, adjusted=adjusted, verdict=self.verdict if adjusted < ALPHA else "tie")


class CostChanges:
    """Changes of speed and memory. reference: the cell that ratios are to, "" for none."""

    def __init__(
        self, old: Mapping[str, Row], new: Mapping[str, Row], reference: str, same_settings: bool
    ) -> None:
        # The records of the rows that were measured in both, before and after.
        self.pairs: dict[str, tuple[Record, Record]] = {
            name: (before, after)
            for name, row in new.items()
            if (after := row.measured) and name in old and (before := old[name].measured)
        }
        sides = [list(rows.values()) for rows in (old, new)]
        cells = [new[name] for name in self.pairs if not new[name].baseline]
        if reference:
            reference = wanted_cell(cells, reference, "was measured in both runs")
        else:  # the later run's, else the earlier's
            bases = [base_of(sides[1]), base_of(sides[0])]
            reference = next((b for b in bases if b in {row.name for row in cells}), "")
        self.reference = reference if same_settings else ""
        self.speeds = [Speeds(rows, self.reference) for rows in sides]
        self.no_speeds: str | None = None if reference else "no reference cell in common"
        if not same_settings:
            self.no_speeds = SETTINGS

    def of(self, before: Row, after: Row) -> list[Change]:
        """Training speed, inference speed and memory; nothing where neither was measured."""
        if not before.measured and not after.measured:
            return []
        pair = self.pairs.get(after.name)
        if why := why_not_comparable(*pair) if pair else UNMEASURED:
            return [Change(quantity, why=why) for quantity in (*SPEEDS.values(), MEMORY)]
        return [*(self._speed(phase, after.name) for phase in SPEEDS), self._memory(after.name)]

    def _speed(self, phase: str, name: str) -> Change:
        change = Change(SPEEDS[phase])
        if self.no_speeds or name == self.reference:
            return replace(change, why=self.no_speeds or REFERENCE)
        weights = {name: 1.0, self.reference: -1.0}
        old, new = (speeds.sessions(phase, weights) for speeds in self.speeds)
        if not old or not new:
            return replace(change, why="not measured against the reference in both")
        inverse = [replace(session, logs=[-logs for logs in session.logs]) for session in old]
        contended = any(speeds.contended(*weights) for speeds in self.speeds)
        ratio = combined([*inverse, *new], contended)
        if ratio.p is None:
            return replace(change, value=ratio.value, why="too few blocks")
        verdict: Verdict = "better" if ratio.value > 1 else "worse"
        verdict = "tie" if ratio.verdict == 0 else verdict
        return Change(change.metric, ratio.value, ratio.low, ratio.high, ratio.p, verdict=verdict)

    def _memory(self, name: str) -> Change:
        """Peak memory in training, on one machine."""
        before, after = (record.metrics for record in self.pairs[name])
        if not before.get(PEAK) or not after.get(PEAK):
            return Change(MEMORY, why=UNMEASURED)
        if before.get("memory_how") != after.get("memory_how"):
            return Change(MEMORY, why="measured differently")
        if len(set(map(_machine, self.pairs[name]))) > 1:
            return Change(MEMORY, why="another machine")
        ratio = after[PEAK] / before[PEAK]
        verdicts: dict[int, Verdict] = {1: "better", 0: "tie", -1: "worse"}
        return Change(MEMORY, ratio, verdict=verdicts[memory_verdict(ratio, 1.0)])

    def how(self) -> str | None:
        """How costs were compared; None where both runs measured no row."""
        if not self.pairs:
            return None
        memory = f"Memory is measured once and not tested: within {MEMORY_TIE:.0%} it is a tie."
        if self.no_speeds:
            return f"Speeds are not compared: {self.no_speeds}. {memory}"
        same = all(_machine(old) == _machine(new) for old, new in self.pairs.values())
        machine = "The same machine" if same else "Another machine, or compiled otherwise"
        return (
            f"{machine}: speeds are compared as each row's ratio to {self.reference} in its own "
            f"run, and within {UNDECIDED:.0%} ({CONTENDED:.0%} where other work had the cores) "
            f"they are a tie. {memory}"
        )


def _machine(record: Record) -> tuple[object, ...]:
    """What timings depend on besides the code."""
    compiled = record.config.get("execution", {}).get("compile", False)
    return (*machine_of(record.environment), compiled)
