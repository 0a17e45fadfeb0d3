"""What changed in speed and memory between two runs.

One machine's speed drifts between runs by more than most changes. So each speed is first divided by
the reference cell's, measured in the same rounds of its own run, and these ratios are compared. The
two runs are independent samples, so the variances of their mean logs add up, and so do the squares
of their noise floors. Where a setting differs on purpose, the reference has the other setting too:
then only memory is compared.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from zoo.config.settings import MACHINE_FIELDS, machine_of
from zoo.errors import ZooError
from zoo.report.comparable import why_not_comparable
from zoo.report.rows import Row, find_row
from zoo.report.stats.ratios import Speeds, base_of, combined, memory_verdict
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
    (after over before; of ratios to the reference where ``relative``); low, high: its 95%
    interval, not corrected. p: two-sided; adjusted: corrected. floor: the noise floor as a share.
    verdict: None if unknown, with the reason in ``why``. models_only: it is about these trained
    models, not about what training again would give.
    """

    metric: str
    before: float | None = None
    after: float | None = None
    before_half: float | None = None
    after_half: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    floor: float | None = None
    p: float | None = None
    adjusted: float | None = None
    seeds: int = 0
    relative: bool = False
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
        self.old, self.new, self.may_differ = old, new, may_differ
        sides = list(old.values()), list(new.values())
        self.reference = "" if may_differ else self._common_reference(reference)
        self.speeds = [Speeds(rows, self.reference) for rows in sides]

    def of(self, one: Row, other: Row) -> list[Change]:
        """Training speed, inference speed and memory; nothing where neither was measured."""
        old, new = one.measured, other.measured
        if old is None and new is None:
            return []
        if old is None or new is None:
            why = "not measured in both"
        else:
            why = why_not_comparable(old, new, self.may_differ)
        if why or old is None or new is None:
            return [Change(name, why=why) for name in (*SPEEDS.values(), "memory")]
        speeds = [self._speed(phase, one.name, old, new) for phase in SPEEDS]
        return [*speeds, self._memory(one.name, old, new)]

    def _speed(self, phase: str, name: str, one: Record, other: Record) -> Change:
        change = Change(SPEEDS[phase], relative=True)
        if not _machine_changes(one, other):
            rate = f"{phase}_tokens_per_s"
            change = replace(change, before=one.metrics.get(rate), after=other.metrics.get(rate))
        if self.may_differ:
            return replace(change, why=REFERENCE_DIFFERS)
        if not self.reference:
            return replace(change, why="no reference cell was measured in both")
        if name == self.reference:
            return replace(change, why=REFERENCE)
        weights = {name: 1.0, self.reference: -1.0}
        old, new = (speeds.sessions(phase, weights) for speeds in self.speeds)
        if old is None or new is None:
            return replace(change, why="not measured against the reference in both")
        floors = [speeds.floor(phase, list(weights)) for speeds in self.speeds]
        floor = math.expm1(math.hypot(*(math.log1p(f or 0.0) for f in floors)))
        ratio = combined([*(-logs for logs in old), *new], floor)
        change = replace(change, value=ratio.value, low=ratio.low, high=ratio.high, floor=floor)
        return replace(change, p=ratio.p, why="too few rounds" if ratio.p is None else "")

    def _memory(self, name: str, one: Record, other: Record) -> Change:
        """Peak memory in training: directly on one machine, else over the reference's."""
        how = [record.metrics.get("memory_how", "") for record in (one, other)]
        peaks = [record.metrics.get("peak_memory_mib") for record in (one, other)]
        if not peaks[0] or not peaks[1]:
            return Change("memory", why="not measured in both")
        if how[0] != how[1]:
            return Change("memory", why=f"measured differently: {how[0]} against {how[1]}")
        ratio = peaks[1] / peaks[0]
        if not _machine_changes(one, other):
            change = Change("memory", before=peaks[0], after=peaks[1], value=ratio)
        elif not self.reference:
            why = REFERENCE_DIFFERS if self.may_differ else "no reference cell in both"
            return Change("memory", why=f"another machine, and {why}")
        elif name == self.reference:
            return Change("memory", why=REFERENCE)
        else:
            rows = self.old[self.reference], self.new[self.reference]
            base = [row.cost.get("peak_memory_mib") for row in rows]
            if not base[0] or not base[1]:
                return Change("memory", why="not measured for the reference")
            ratio *= base[0] / base[1]
            change = Change("memory", value=ratio, relative=True)
        less: Verdict = "better" if memory_verdict(ratio, 1.0) > 0 else "worse"
        return replace(change, verdict=less if memory_verdict(ratio, 1.0) else "tie")

    def how(self) -> str:
        """How costs were compared, in a sentence; empty where both runs measured no row."""
        pairs = [(self.old[name].measured, row.measured) for name, row in self._both().items()]
        if not pairs:
            return ""
        if self.may_differ:
            return f"Speeds are not compared: {REFERENCE_DIFFERS}."
        if not self.reference:
            return "Speeds are not compared: the two runs have no reference cell in common."
        ratios = f"each row's ratio to {self.reference} in its own run"
        known = ((one, other) for one, other in pairs if one and other)
        if changes := dict.fromkeys(c for pair in known for c in _machine_changes(*pair)):
            return (
                f"Another machine ({', '.join(changes)}): speed and memory are compared only as "
                f"{ratios}."
            )
        return (
            f"The same machine, whose speed drifts between runs: speeds are compared as {ratios}."
        )

    def _both(self) -> dict[str, Row]:
        """The later run's rows that were measured in both."""
        rows = ((name, row) for name, row in self.new.items() if row.measured)
        return {name: row for name, row in rows if name in self.old and self.old[name].measured}

    def _common_reference(self, wanted: str) -> str:
        """A cell measured in both: the wanted one, else the later run's, else the earlier's."""
        cells = [row for row in self._both().values() if not row.baseline]
        if wanted:
            if row := find_row(cells, wanted):
                return row.name
            raise ZooError(
                f"--reference {wanted}: no such cell was measured in both runs. There is: "
                f"{', '.join(row.name for row in cells) or 'none'}"
            )
        bases = [base_of(list(rows.values())) for rows in (self.new, self.old)]
        return next((base for base in bases if base in [row.name for row in cells]), "")


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
