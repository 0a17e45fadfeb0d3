"""What changed in speed and memory between two runs.

A machine drifts between runs by more than most changes are worth, and another machine is another
matter altogether. So speeds are never held against each other: each is first divided by the
reference cell's, measured in the same rounds of its own run, and it is these ratios that are
compared. The two runs are independent samples, so the variances of their mean logs add, and their
noise floors, which know nothing of each other either, add as squares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from zoo.errors import ZooError
from zoo.report.compare.change import Change, other_settings
from zoo.report.stats.ratios import Speeds, combined, memory_verdict
from zoo.report.tables.rows import Row
from zoo.sweep.records import Record

PHASES = {"train": "train speed", "infer": "inference speed"}
REFERENCE = "the reference"
# What timing hangs on. The name of a processor stands for the machine.
MACHINE = ("device", "device_name", "driver", "torch", "threads", "cores", "precision", "platform")


class Costs:
    """Speeds and memory of two runs; reference: the cell they are held against, "" for none.

    told: how they were compared, in a sentence; empty where neither run has measured any.
    """

    def __init__(self, before: Sequence[Row], after: Sequence[Row], reference: str = "") -> None:
        self.old, self.new = ({r.name: r for r in rows} for rows in (before, after))
        self.reference = _common_reference(self.old, self.new, reference)
        self.speeds = Speeds(before, self.reference), Speeds(after, self.reference)
        self.told = self._told()

    def changes(self, one: Row, other: Row) -> list[Change]:
        """Training speed, inference speed and memory; nothing where neither was measured."""
        old, new = _probe(one), _probe(other)
        if old is None and new is None:
            return []
        names = [*PHASES.values(), "memory"]
        if old is None or new is None:
            return [Change(name, why="not measured in both") for name in names]
        if why := other_settings(old, new):
            return [Change(name, why=why) for name in names]
        speeds = [self._speed(phase, one.name, old, new) for phase in PHASES]
        return [*speeds, self._memory(one.name, old, new)]

    def _speed(self, phase: str, name: str, one: Record, other: Record) -> Change:
        change = Change(PHASES[phase], relative=True)
        if same_machine(one, other):
            rate = f"{phase}_tokens_per_s"
            change = replace(change, before=one.metrics.get(rate), after=other.metrics.get(rate))
        if not self.reference:
            return replace(change, why="no reference cell was measured in both")
        if name == self.reference:
            return replace(change, why=REFERENCE)
        weights = {name: 1.0, self.reference: -1.0}
        old, new = (speeds.sessions(phase, weights) for speeds in self.speeds)
        if old is None or new is None:
            return replace(change, why="not measured beside the reference in both")
        floors = [speeds.floor(phase, list(weights)) for speeds in self.speeds]
        floor = math.expm1(math.hypot(*(math.log1p(f or 0.0) for f in floors)))
        ratio = combined([*(-logs for logs in old), *new], floor)
        change = replace(change, value=ratio.value, low=ratio.low, high=ratio.high, floor=floor)
        if ratio.p is None:
            return replace(change, why="too few rounds")
        return replace(change, p=ratio.p)

    def _memory(self, name: str, one: Record, other: Record) -> Change:
        """Peak memory in training: directly on one machine, else over the reference's."""
        how = [record.metrics.get("memory_how", "") for record in (one, other)]
        peaks = [record.metrics.get("peak_memory_mib") for record in (one, other)]
        if not peaks[0] or not peaks[1]:
            return Change("memory", why="not measured in both")
        if how[0] != how[1]:
            return Change("memory", why=f"measured otherwise: {how[0]} against {how[1]}")
        if same_machine(one, other):
            change = Change("memory", before=peaks[0], after=peaks[1], value=peaks[1] / peaks[0])
        else:
            if not self.reference:
                return Change("memory", why="another machine, and no reference cell in both")
            if name == self.reference:
                return Change("memory", why=REFERENCE)
            base = [_peak(rows[self.reference]) for rows in (self.old, self.new)]
            if not base[0] or not base[1]:
                return Change("memory", why="the reference has none")
            ratio = (peaks[1] / base[1]) / (peaks[0] / base[0])
            change = Change("memory", value=ratio, relative=True)
        assert change.value is not None
        verdict = memory_verdict(change.value, 1.0)
        return replace(
            change, verdict="tie" if not verdict else "better" if verdict > 0 else "worse"
        )

    def _told(self) -> str:
        pairs = [
            (one, other)
            for name, row in self.new.items()
            if name in self.old and (one := _probe(self.old[name])) and (other := _probe(row))
        ]
        if not pairs:
            return ""
        if not self.reference:
            return (
                "Speeds are not compared: no cell was measured as the reference, or beside it, in "
                "both runs."
            )
        differ = [part for one, other in pairs for part in machine_differs(one, other)]
        ratios = f"each row's ratio to {self.reference} in its own run"
        if differ:
            return (
                f"Another machine ({', '.join(dict.fromkeys(differ))}): speed and memory are "
                f"compared only as {ratios}."
            )
        return (
            f"The same kind of machine; it drifts between runs, so what is compared of speeds is "
            f"{ratios}."
        )


def same_machine(one: Record, other: Record) -> bool:
    """Whether all that timing hangs on is the same."""
    return not machine_differs(one, other)


def machine_differs(one: Record, other: Record) -> list[str]:
    """What timing hangs on and differs: ``threads 2 against 4``."""
    said = [
        f"{name.replace('_', ' ')} {one.environment.get(name)} against "
        f"{other.environment.get(name)}"
        for name in MACHINE
        if one.environment.get(name) != other.environment.get(name)
    ]
    compiled = [r.config.get("execution", {}).get("compile", False) for r in (one, other)]
    return said + (
        [f"compile {compiled[0]} against {compiled[1]}"] if len(set(compiled)) > 1 else []
    )


def _common_reference(old: Mapping[str, Row], new: Mapping[str, Row], wanted: str) -> str:
    """A cell measured in both: the one asked for, else the later run's, else the earlier's."""
    both = [name for name, row in new.items() if name in old and _probe(row) and _probe(old[name])]
    cells = [name for name in both if not new[name].baseline]
    if wanted:
        parts = {part.strip() for part in wanted.split("+")}
        for name in cells:
            if name == wanted or parts <= set(new[name].cell.values()):
                return name
        raise ZooError(
            f"--reference {wanted}: no such cell was measured in both runs. There is: "
            f"{', '.join(cells) or 'none'}"
        )
    bases = [Speeds(list(rows.values())).base for rows in (new, old)]
    return next((base for base in bases if base in cells), "")


def _probe(row: Row) -> Record | None:
    probe = row.probe
    return probe if probe is not None and probe.status == "ok" else None


def _peak(row: Row) -> Any:
    probe = _probe(row)
    return probe.metrics.get("peak_memory_mib") if probe else None
