"""Speeds as ratios, from blocks in which two models had a turn each.

A machine that slows down slows all models of a block alike, so each block gives one log ratio of a
row's speed to the reference's (``zoo.measure.turns``). Their Hodges-Lehmann centre has an interval
that one disturbed block makes hardly wider, and that counts what processes differ by.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from zoo.measure import turns
from zoo.report.rows import ReportRow
from zoo.sweep.records import Record

# A ratio that is, or whose inverse is, at most so much above 1 is not told apart from 1; the second
# share is for ratios that were measured while other work had the cores.
UNDECIDED, CONTENDED = 0.03, 0.1


@dataclass(frozen=True)
class Ratio:
    """How many times as fast. low, high: the 95% interval; None with fewer than six blocks.

    p: two-sided, that the ratio is 1. contended: other work had the cores while it was measured.
    """

    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    contended: bool = False

    @property
    def verdict(self) -> int | None:
        """1 where faster, -1 slower, 0 where the two are not told apart; None if unknown.

        They are told apart if the interval does not contain 1 and the ratio is not too close to it.
        """
        if self.low is None or self.high is None:
            return None
        share = CONTENDED if self.contended else UNDECIDED
        # In logarithms, so that the inverse has the same verdict.
        if self.low <= 1 <= self.high or abs(math.log(self.value)) <= math.log1p(share):
            return 0
        return 1 if self.value > 1 else -1

    @property
    def inverse(self) -> Ratio:
        """The same with the two exchanged."""
        low, high = (None if end is None else 1 / end for end in (self.high, self.low))
        return replace(self, value=1 / self.value, low=low, high=high)


@dataclass(frozen=True)
class Session:
    """A product of speeds, from models that had their turns in the same blocks.

    logs: of each process, block by block. squares: the sum of the squares of the weights of the
    speeds that it is a product of.
    """

    logs: Sequence[turns.Logs]
    squares: float = 2.0


class Speeds:
    """The speeds of all rows that were measured against the same base.

    base: name of the row that took part in every session. measured: row name to its samples. clock:
    ``cpu`` or ``wall``, of the latest measurement.
    """

    def __init__(self, rows: Sequence[ReportRow], base: str) -> None:
        self.base = base
        self.measured: dict[str, Mapping[str, Any]] = {}
        for row in rows:
            if (record := row.measured) and _base_of(record) == base:
                self.measured[row.name] = {"session": record.key, **record.samples}
        self.clock = next((s.get("clock", "") for s in reversed(self.measured.values())), "")
        self._contention = {name: turns.contention(of) for name, of in self.measured.items()}

    def ratio(self, phase: str, name: str, other: str) -> Ratio | None:
        """How many times as fast as the other row the named one is; 1 where both are one row."""
        return self.contrast(phase, {name: 1.0, other: -1.0}) if name != other else Ratio(1.0)

    def contrast(self, phase: str, weights: Mapping[str, float]) -> Ratio | None:
        """The product of speeds raised to weights that sum to 0; None where a row has none."""
        # Rows of one session are combined block by block: what a block does to all cancels.
        sessions: dict[str, list[tuple[float, list[turns.Logs]]]] = {}
        for name, weight in weights.items():
            if name == self.base:
                continue  # its log ratio to itself is 0 in every block
            samples = self.measured.get(name)
            logs = turns.log_ratios(samples, samples["reference"], phase) if samples else []
            if samples is None or not any(map(len, logs)):
                return None
            sessions.setdefault(samples["session"], []).append((weight, logs))
        products = [_product(parts) for parts in sessions.values()]
        return combined(products, self.contended(*weights)) if products else None

    def rate(self, phase: str, name: str) -> float | None:
        """Real tokens/s of a row: its ratio to the base times the base's rate of the whole run."""
        base = self._base_rates.get(phase)
        ratio = self.ratio(phase, name, self.base)
        if base is None or ratio is None or name not in self.measured:
            return None
        return ratio.value * base

    @cached_property
    def _base_rates(self) -> dict[str, float]:
        """The base's own rate of the whole run, by phase: the median over sessions."""
        bases = {samples["session"]: samples["reference"] for samples in self.measured.values()}
        rates = {
            phase: [turns.rate(base, phase) for base in bases.values() if base["turns"].get(phase)]
            for phase in turns.PHASES
        }
        return {phase: statistics.median(known) for phase, known in rates.items() if known}

    def contended(self, *names: str) -> bool:
        """Whether other work had the cores while any of these rows had its turns."""
        return any(self._contention.get(name, 1.0) > turns.CONTENDED for name in names)

    def blocks(self, name: str) -> int:
        """In how many blocks a measured row had a turn."""
        return sum(map(len, turns.seconds(self.measured[name], turns.PHASES[0])))


def _product(parts: Sequence[tuple[float, list[turns.Logs]]]) -> Session:
    """Of the speeds of one session, each with its weight."""
    processes = []
    for several in zip(*(logs for _, logs in parts), strict=False):
        least = min(map(len, several))
        weighted = [w * logs[:least] for (w, _), logs in zip(parts, several, strict=True)]
        processes.append(np.sum(weighted, axis=0))
    weights = [weight for weight, _ in parts]
    # The base has the weight that makes their sum 0.
    return Session(processes, math.fsum(w * w for w in [*weights, math.fsum(weights)]))


def combined(sessions: Sequence[Session], contended: bool = False) -> Ratio:
    """The product of independent sessions' ratios, with its interval and its p-value."""
    centres = [turns.centre_and_error(session.logs, session.squares) for session in sessions]
    centre = math.fsum(mean for mean, _ in centres)
    errors = [error for _, error in centres if error is not None]
    if len(errors) < len(centres):
        return Ratio(math.exp(centre), contended=contended)
    error = math.hypot(*errors)
    p = 2 * statistics.NormalDist().cdf(-abs(centre) / error)
    low, high = math.exp(centre - turns.Z * error), math.exp(centre + turns.Z * error)
    return Ratio(math.exp(centre), low, high, p, contended)


def find_reference(rows: Sequence[ReportRow]) -> str:
    """The cell that ratios are to: that which the latest cost measurement was made against.

    Without any, the first cell that was trained; empty where there is none.
    """
    measured = [r for row in rows for r in row.cost_records if r.status == "ok"]
    if measured:
        return _base_of(sorted(measured, key=lambda record: record.started)[-1])
    cells = (row for row in rows if not row.baseline and (row.trained or row.cost_records))
    return next((row.name for row in cells), "")


def _base_of(record: Record) -> str:
    """The row that a cost measurement was made against."""
    return str(record.samples["reference"]["name"])
