"""Speeds as ratios, from rounds in which two models were measured one after the other.

A machine that slows down slows all models of a round alike, so each round gives one log ratio of a
row's speed to the reference's. Their mean has a t-interval, which reaches 95% from three rounds on
if noise is multiplicative and affects both alike; one disturbed round makes it wider, not wrong. A
distribution-free interval of five rounds does not reach 95%, and a bootstrap is far too narrow.

The reference is measured twice in the same rounds. The farther end of the interval between the
two measurements is the machine's noise floor: how much two identical models may seem to differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zoo.errors import ZooError
from zoo.measure.round_ratios import PHASES as PHASES
from zoo.measure.round_ratios import Batches, Logs, log_ratios
from zoo.report.rows import Row, find_row
from zoo.report.stats.intervals import ENOUGH, t_quantile, t_tests
from zoo.sweep.records import Record

# Memory is measured once, so there is no interval: only how much a row differed when it was
# measured again with the same settings on one machine. A cell had 284.2 and 273.5 MiB (a ratio of
# 1.039); the same fit of tfidf-logreg(whole=True) has 62.0 to 67.2 MiB in six published runs (a
# ratio of 1.084).
MEMORY_TIE = 0.1

NOISY = 0.3  # noise floor above which speeds cannot be compared


@dataclass(frozen=True)
class Ratio:
    """How many times as fast. low, high: the 95% interval; None with fewer than three rounds.

    floor: the noise floor as a share. p: two-sided, that the ratio is 1.
    """

    value: float
    low: float | None = None
    high: float | None = None
    floor: float | None = None
    p: float | None = None

    @property
    def verdict(self) -> int | None:
        """1 where significantly faster, -1 slower, 0 for a tie; None if unknown.

        It is a tie if the interval contains 1 or the ratio is within the noise floor.
        """
        if self.low is None or self.high is None:
            return None
        if self.low <= 1 <= self.high or within(self.value, self.floor):
            return 0
        return 1 if self.value > 1 else -1


def within(ratio: float, share: float | None) -> bool:
    """Whether a ratio is at most this share above or below 1, on a log scale."""
    return abs(math.log(ratio)) <= math.log1p(share or 0.0)


def memory_verdict(one: float, other: float) -> int:
    """1 where the first needs less memory, -1 more, 0 for a tie (within MEMORY_TIE)."""
    return 0 if within(one / other, MEMORY_TIE) else 1 if one < other else -1


@dataclass(frozen=True)
class _Measured:
    """By phase: logs of a row's speed over the base's, round by round; the noise floor."""

    session: str
    speed: dict[str, Logs]
    floor: dict[str, float | None]


class Speeds:
    """The speeds of all rows that were measured against the same base.

    base: name of the row that took part in every session; "" where nothing was measured.
    """

    def __init__(self, rows: Sequence[Row], reference: str = "") -> None:
        self.base = base_of(rows, reference)
        costs = [r for row in rows if not row.baseline for r in row.cost_records]
        # Every model of a run is measured on the same batches, as real and padded tokens.
        batches: Batches = next(
            (r.samples["properties"]["batches"] for r in costs if r.status == "ok"), []
        )
        self.measured: dict[str, _Measured] = {}
        for row in rows:
            against = (r for r in reversed(row.cost_records) if _base_of(r) == self.base)
            if row.measured is None or (record := next(against, None)) is None:
                continue
            samples, properties = record.samples, record.samples["properties"]
            own = properties["batches"]
            shared = batches if row.baseline else own
            batches_of = {"train": own, "infer": properties.get("infer_batches", own)}
            base, again = samples["reference"]["rounds"], samples.get("twin", {}).get("rounds", [])
            self.measured[row.name] = _Measured(
                session=samples.get("session") or record.key,
                speed={
                    phase: log_ratios(samples["rounds"], batches_of[phase], base, shared, phase)
                    for phase in PHASES
                },
                floor={
                    phase: _floor(log_ratios(again, shared, base, shared, phase))
                    for phase in PHASES
                },
            )

    def ratio(self, phase: str, one: str, other: str) -> Ratio | None:
        """How many times as fast as the other the one is."""
        return self.contrast(phase, {one: 1.0, other: -1.0}) if one != other else None

    def contrast(self, phase: str, weights: Mapping[str, float]) -> Ratio | None:
        """The product of speeds raised to weights that sum to 0; None where a row has none."""
        sessions = self.sessions(phase, weights)
        return None if sessions is None else combined(sessions, self.floor(phase, list(weights)))

    def sessions(self, phase: str, weights: Mapping[str, float]) -> list[Logs] | None:
        """Logs of that product, round by round, of each session; None where a row has none.

        Rows of one session are combined round by round, so that what a round does to all cancels.
        """
        sessions: dict[str, list[Logs]] = {}
        for name, weight in weights.items():
            if name == self.base:
                continue  # its log ratio to itself is 0 in every round
            if name not in self.measured or not len(self.measured[name].speed[phase]):
                return None
            one = self.measured[name]
            sessions.setdefault(one.session, []).append(weight * one.speed[phase])
        cut = [[one[: min(map(len, logs))] for one in logs] for logs in sessions.values()]
        return [np.sum(logs, axis=0) for logs in cut]

    def floor(self, phase: str, names: Sequence[str]) -> float | None:
        """The noise floor as a share: the largest of the sessions these rows were measured in."""
        floors = [self.measured[name].floor[phase] for name in names if name in self.measured]
        return max((floor for floor in floors if floor is not None), default=None)


def too_noisy(floor: float | None) -> bool:
    """Whether a noise floor is so high that speeds measured there cannot be compared."""
    return floor is not None and floor > NOISY


def find_reference(rows: Sequence[Row], wanted: str = "") -> str:
    """The cell that ratios are to: by name, or by some of its choices, as ``fused+sin``.

    By default the one that the latest cost measurement was made against or, without any, the first
    cell that was trained; empty where there is none. Raises ZooError where no cell is the wanted
    one.
    """
    cells = [row for row in rows if not row.baseline and (row.trained or row.cost_records)]
    if not wanted:
        return base_of(rows) or next((row.name for row in cells), "")
    if row := find_row(cells, wanted):
        return row.name
    raise ZooError(
        f"--reference {wanted}: no such cell here. There is: {', '.join(row.name for row in cells)}"
    )


def combined(sessions: Sequence[Logs], floor: float | None) -> Ratio:
    """The product of independent sessions' ratios, with its interval and its p-value."""
    mean = math.fsum(float(rounds.mean()) for rounds in sessions)
    if (found := _error(sessions)) is None:
        return Ratio(math.exp(mean), floor=floor)
    error, df = found
    half = t_quantile(df) * error
    p = float(t_tests(np.asarray(mean), np.asarray(error), np.asarray(df)))
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), floor, p)


def _error(sessions: Sequence[Logs]) -> tuple[float, float] | None:
    """Standard error and degrees of freedom of a sum of means of independent samples (Welch).

    None with too few rounds.
    """
    if not sessions or min(map(len, sessions)) < ENOUGH:
        return None
    parts = [float(s.var(ddof=1)) / len(s) for s in sessions]
    total = math.fsum(parts)
    if total == 0:
        return 0.0, 1.0
    df = total**2 / math.fsum(p**2 / (len(s) - 1) for p, s in zip(parts, sessions, strict=True))
    return math.sqrt(total), df


def _base_of(record: Record) -> str:
    """The row that a cost measurement was made against; empty for one that failed."""
    reference = record.samples.get("reference", {})
    return str(reference.get("name", "")) if record.status == "ok" else ""


def base_of(rows: Sequence[Row], reference: str = "") -> str:
    """The row that the latest costs were measured against: the reference's, by default all rows'.

    Empty where nothing was measured.
    """
    records = [r for row in rows for r in row.cost_records if reference in ("", row.name)]
    records = [r for r in records if _base_of(r)]
    if not records:
        return ""
    own = [r for r in records if _base_of(r) == reference]
    # Records are in the order of rows here; the one measured last started last.
    return _base_of((own or sorted(records, key=lambda r: r.started))[-1])


def _floor(again: Logs) -> float | None:
    """The farther end of the interval of the reference against itself, as a share."""
    if (found := _error([again])) is None:
        return None
    error, df = found
    return math.expm1(abs(float(again.mean())) + t_quantile(df) * error)
