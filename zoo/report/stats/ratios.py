"""Speeds as ratios, from rounds in which both were measured one after the other.

A drifting machine hits all cells of a round alike, so each round gives one log ratio of a cell's
speed to the reference's, and these are what is averaged. With five or so rounds the choice of an
interval is narrow: no distribution-free one reaches 95% (the widest there is, from the smallest
to the largest of five, holds the median in 1 - 2/2⁵ = 93.75% of cases), and a bootstrap of five
values is far too narrow. A t-interval of the mean log ratio reaches 95% from three rounds on,
where noise multiplies and strikes both alike, so that log ratios are symmetric; it widens, and
does not lie, when a round goes astray. Its centre is the geometric mean of the rounds' ratios.

The reference is measured against a twin of itself in the same rounds. The farther end of the
twin's interval is the machine's noise floor: what identical cells may seem to differ by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.measure.summary import round_rates
from zoo.report.stats.intervals import ENOUGH, t_quantile
from zoo.report.tables.rows import Row
from zoo.sweep.records import Record

PHASES = ("train", "infer")
NOTHING = 1e-12  # what rounding leaves of a log ratio
# Memory is measured once, so there is no interval: only what one cell has differed by, measured
# again. Of the published runs two have a cell in common, measured twice with the same settings on
# one machine: 284.2 and 273.5 MiB, a ratio of 1.039 (and a baseline, 55.3 and 55.2 MiB).
MEMORY_TIE = 0.05

Logs = NDArray[np.float64]


@dataclass(frozen=True)
class Ratio:
    """How many times as fast. low, high: its 95% interval; None with fewer than three rounds.

    floor: the noise floor as a share. p: two-sided, that it is 1.
    """

    value: float
    low: float | None = None
    high: float | None = None
    floor: float | None = None
    p: float | None = None

    @property
    def verdict(self) -> int | None:
        """1 where really faster, -1 slower, 0 for a tie; None where nobody can say.

        A tie is an interval that holds 1, or a ratio within the noise floor.
        """
        if self.low is None or self.high is None:
            return None
        if self.low <= 1 <= self.high or self.in_noise:
            return 0
        return 1 if self.value > 1 else -1

    @property
    def in_noise(self) -> bool:
        """Whether it is within the noise floor."""
        return abs(math.log(self.value)) <= math.log1p(self.floor or 0.0)


@dataclass(frozen=True)
class _Measured:
    """By phase: logs of a row's speed over the reference's, round by round; the noise floor."""

    session: str
    speed: dict[str, Logs]
    floor: dict[str, float | None]


class Speeds:
    """The speeds of all rows that were measured beside one and the same base.

    base: name of the row that took part in every session; "" where nothing was measured.
    """

    def __init__(self, rows: Sequence[Row], reference: str = "") -> None:
        self.base = _base(rows, reference)
        batches = _batches(rows)
        self.measured: dict[str, _Measured] = {}
        for row in rows:
            if row.probe is None or row.probe.status != "ok":
                continue
            record = next((r for r in reversed(row.probes) if _base_of(r) == self.base), None)
            if record is not None:
                self.measured[row.name] = _read(row, record, batches)

    def ratio(self, phase: str, one: str, other: str) -> Ratio | None:
        """How many times as fast as the other the one is."""
        return self.contrast(phase, {one: 1.0, other: -1.0}) if one != other else None

    def contrast(self, phase: str, weights: Mapping[str, float]) -> Ratio | None:
        """The product of speeds raised to weights that sum to 0; None where a row has none."""
        sessions = self.sessions(phase, weights)
        return None if sessions is None else combined(sessions, self.floor(phase, list(weights)))

    def sessions(self, phase: str, weights: Mapping[str, float]) -> list[Logs] | None:
        """Logs of that product, round by round, of each session; None where a row has none.

        Rows of one session are combined round by round, so what a round does to all cancels.
        """
        sessions: dict[str, list[Logs]] = {}
        for name, weight in weights.items():
            if name == self.base:
                continue  # its log ratio to itself is nought in every round
            if name not in self.measured or not len(self.measured[name].speed[phase]):
                return None
            one = self.measured[name]
            sessions.setdefault(one.session, []).append(weight * one.speed[phase])
        return [_summed(logs) for logs in sessions.values()]

    def floor(self, phase: str, names: Sequence[str] | None = None) -> float | None:
        """The noise floor as a share: the worst of the sessions these rows were measured in."""
        chosen = self.measured if names is None else [n for n in names if n in self.measured]
        floors = [self.measured[name].floor[phase] for name in chosen]
        return max((floor for floor in floors if floor is not None), default=None)


def combined(sessions: Sequence[Logs], floor: float | None) -> Ratio:
    """The product of independent sessions' ratios, with its interval and its p-value."""
    mean = math.fsum(float(rounds.mean()) for rounds in sessions)
    error = _error(sessions)
    if error is None:
        return Ratio(math.exp(mean), floor=floor)
    half = error.reach
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), floor, error.p(mean))


def memory_verdict(one: float, other: float) -> int:
    """1 where the first takes really less memory, -1 more, 0 for a tie (within MEMORY_TIE)."""
    if abs(math.log(one / other)) <= math.log1p(MEMORY_TIE):
        return 0
    return 1 if one < other else -1


@dataclass(frozen=True)
class _Error:
    """A standard error and its degrees of freedom."""

    size: float
    df: float

    @property
    def reach(self) -> float:
        """Half the 95% interval."""
        return t_quantile(self.df) * self.size if self.size else 0.0

    def p(self, mean: float) -> float:
        """Two-sided p-value that what has this mean is nought."""
        from scipy import special

        if abs(mean) < NOTHING:
            return 1.0
        return float(2 * special.stdtr(self.df, -abs(mean) / self.size)) if self.size else 0.0


def _error(sessions: Sequence[Logs]) -> _Error | None:
    """The error of a sum of means of independent samples (Welch); None of too few."""
    if not sessions or min(map(len, sessions)) < ENOUGH:
        return None
    parts = [float(s.var(ddof=1)) / len(s) for s in sessions]
    total = math.fsum(parts)
    if total == 0:
        return _Error(0.0, 1.0)
    df = total**2 / math.fsum(p**2 / (len(s) - 1) for p, s in zip(parts, sessions, strict=True))
    return _Error(math.sqrt(total), df)


def _summed(logs: Sequence[Logs]) -> Logs:
    rounds = min(map(len, logs))
    total: Logs = np.sum([one[:rounds] for one in logs], axis=0)
    return total


def _base_of(record: Record) -> str:
    """The reference that a probe was measured beside; empty for one that failed."""
    reference = record.samples.get("reference", {})
    return str(reference.get("name", "")) if record.status == "ok" else ""


def _base(rows: Sequence[Row], reference: str) -> str:
    """The base of the reference's latest probe; without a reference, of the latest of all."""
    records = [r for row in rows for r in row.probes if not reference or row.name == reference]
    records = [r for r in records if _base_of(r)]
    if not records:
        return ""
    own = [r for r in records if _base_of(r) == reference]
    # Records come in the order of rows here; what was measured last started last.
    return _base_of((own or sorted(records, key=lambda r: r.started))[-1])


def _batches(rows: Sequence[Row]) -> list[list[int]]:
    """The tokens of the batches that every model is measured on: the same for all of a run."""
    for row in rows:
        for record in row.probes:
            if record.status == "ok" and not row.baseline:
                batches: list[list[int]] = record.samples["facts"]["batches"]
                return batches
    return []


def _read(row: Row, record: Record, batches: list[list[int]]) -> _Measured:
    samples, facts = record.samples, record.samples["facts"]
    shared = batches if row.baseline else facts["batches"]
    own = {"train": facts["batches"], "infer": facts.get("infer_batches", facts["batches"])}
    base = samples["reference"]["rounds"]
    twin = samples.get("twin", {}).get("rounds", [])
    return _Measured(
        session=samples.get("session") or record.key,
        speed={p: _logs(samples["rounds"], own[p], base, shared, p) for p in PHASES},
        floor={p: _floor(_logs(twin, shared, base, shared, p)) for p in PHASES},
    )


def _floor(twin: Logs) -> float | None:
    """The farther end of the twin's interval, as a share; None of too few rounds."""
    error = _error([twin])
    return None if error is None else math.expm1(abs(float(twin.mean())) + error.reach)


def _logs(
    rounds: list[dict[str, list[float]]],
    batches: list[list[int]],
    base_rounds: list[dict[str, list[float]]],
    base_batches: list[list[int]],
    phase: str,
) -> Logs:
    """Log of own speed over the base's, in real tokens/s, of each round that both finished.

    Where both took the same batches, the median of their ratios batch by batch: a stumble over
    one batch is then no stumble of the round.
    """
    count = min(len(rounds), len(base_rounds)) if batches and base_batches else 0
    if batches == base_batches:
        pairs = zip(rounds[:count], base_rounds[:count], strict=True)
        return np.array([_batch_by_batch(own[phase], base[phase]) for own, base in pairs])
    own = round_rates(rounds[:count], phase, batches, padded=False)
    base = round_rates(base_rounds[:count], phase, base_batches, padded=False)
    logs: Logs = np.log(np.array(own) / np.array(base)) if count else np.empty(0)
    return logs


def _batch_by_batch(own: list[float], base: list[float]) -> float:
    """Median log of how many times as fast, over the batches that both did; in seconds."""
    both = min(len(own), len(base))
    return float(np.median(np.log(base[:both]) - np.log(own[:both])))
