"""Whether a run shows what a published claim predicts. The rules were fixed before any run.

``docs/claims.md`` has them as a table. Shares of seeds are judged by Wilson's 95% interval,
examples until solved by the exchange test, scores by the paired t-test, speeds by paired turns,
equality by two one-sided tests (Schuirmann 1987). A claim has eight seeds, and twelve if it is
undecided then; differences are tested at 3% each time, so that a false finding is rarer than 5%
(``learning.STAGES``). It holds where all predictions do (an intersection-union test: Berger 1982).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from zoo.config.claim import Claim, Expectation, Table, find_row
from zoo.errors import ZooError, counted, listed
from zoo.report.rows import ReportRow, make_rows
from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import ALPHA, wilson
from zoo.report.stats.learning import STAGES, Learning, exchanged
from zoo.report.stats.verdicts import Verdicts
from zoo.sweep.records import Record

HALF, MOST_SEEDS, TINY = 0.5, 100, 1e-12
LEVEL = STAGES[0][1]
Z, Z_LEVEL = (float(special.ndtri(1 - level / 2)) for level in (ALPHA, LEVEL))
HOLDS, REFUTED = "holds here", "does not hold here"
COUNTS = {"examples", "effective_examples", "errors"}  # of all test texts, not of a group


@dataclass(frozen=True)
class Finding:
    """What a run shows of one prediction: in words, with the effect and its interval.

    holds: None where it is undecided. p: of the test that decides. seeds: of the row that has
    fewest; None of costs.
    """

    text: str
    holds: bool | None
    p: float = 1.0
    seeds: int | None = 0

    @property
    def needed(self) -> float:
        """How many seeds would decide it, if the effect is as large as it seems."""
        z = float(special.ndtri(1 - self.p / 2))
        return math.ceil((self.seeds or 0) * (Z_LEVEL / z) ** 2) if z > 0 else math.inf


@dataclass(frozen=True)
class Judgement:
    """What a run shows of a claim. minutes: of one core, of all its records."""

    claim: Claim
    findings: Sequence[Finding]
    minutes: float

    @property
    def seeds(self) -> int | None:
        """Of the row that has fewest; None where all is of costs."""
        return min((f.seeds for f in self.findings if f.seeds is not None), default=None)

    @property
    def verdict(self) -> str:
        """``holds here``, ``does not hold here``, or what would decide it."""
        if self.seeds is not None and self.seeds < self.claim.seeds:
            return f"not finished ({self.seeds} of {self.claim.seeds} seeds)"
        if any(finding.holds is False for finding in self.findings):
            return REFUTED
        undecided = [finding for finding in self.findings if finding.holds is None]
        if not undecided:
            return HOLDS
        needed = max(finding.needed for finding in undecided)
        seeds = f"{needed:.0f}" if needed <= MOST_SEEDS else f"more than {MOST_SEEDS}"
        costs = any(finding.seeds is None for finding in undecided)
        more = "more --set blocks" if costs else f"{seeds} seeds"
        return f"undecided ({more} would decide it)"

    @property
    def summary(self) -> str:
        """The verdict in a line, with the seeds and what they took."""
        seeds = "" if self.seeds is None else f"{counted(self.seeds, 'seed')}, "
        return f"{self.verdict}: {seeds}{self.minutes:.1f} minutes of a core"

    @property
    def p(self) -> float:
        """Of all predictions together or, where one is refuted, of the one that surely is."""
        refuted = [finding.p for finding in self.findings if finding.holds is False]
        return min(refuted) if refuted else max(finding.p for finding in self.findings)


def judge(claim: Claim, runs: Sequence[RunReport]) -> Judgement:
    """What the reports of a claim's data sets show.

    Raises ZooError where a prediction is of a row, a group or data that are not there.
    """
    records = [record for run in runs for record in run.records]
    minutes = sum(record.metrics.get("seconds", 0.0) for record in records) / 60
    return Judgement(claim, [_finding(each, runs) for each in claim.expects], minutes)


class _Side(NamedTuple):
    """A row that a prediction is of, with its run. label: as the claim names it."""

    run: RunReport
    name: str
    label: str

    @property
    def learning(self) -> Learning | None:
        """Of streamed data."""
        return self.run.learning.get(self.name)

    def trained(self, group: str) -> ReportRow:
        """The row with its trainings, at the best rate; with the scores of a group of test texts.

        Raises ZooError where there is no such group.
        """
        records = [r for r in self.run.records if r.kind == "train" and r.name == self.name]
        if self.learning:
            records = [r for r in records if r.config["training"]["lr"] == self.learning.rate]
        if group:
            records = [_of_group(record, group) for record in records if record.status == "ok"]
        return make_rows(records, self.run.metric.name)[0]


def _of_group(record: Record, group: str) -> Record:
    groups = record.metrics.get("groups", {})
    if group not in groups:
        raise ZooError(f"claim: no group '{group}'; there is: {listed(groups or ['none'])}")
    whole = {name: value for name, value in record.metrics.items() if name not in COUNTS}
    return record.model_copy(update={"metrics": whole | groups[group]})


def _finding(expectation: Expectation, runs: Sequence[RunReport]) -> Finding:
    tables = []
    for run in runs:
        config = run.typical.config
        cells = {row.name: row.cell for row in run.recorded_rows if not row.baseline}
        tables.append(Table(config["data"]["name"], config, cells))
    sides = []
    for label in filter(None, (expectation.row, expectation.than)):
        place, name = find_row(label, expectation.data, tables)
        sides.append(_Side(runs[place], name, label))
    known = [tables[place].data, *(f"{k} {v}" for k, v in _options(expectation.data))]
    where = ", ".join([*known, *filter(None, [expectation.group])])
    return _TESTS[expectation.kind](expectation, where, *sides)


def _options(data: str | dict[str, Any]) -> list[tuple[str, Any]]:
    return [] if isinstance(data, str) else [(k, v) for k, v in data.items() if k != "name"]


def _share(expectation: Expectation, where: str, side: _Side) -> Finding:
    """Of seeds that solve the task, against one half: the score test, which Wilson inverts."""
    learning, lr = side.learning, expectation.lr
    if learning is None or expectation.group:
        values = list(side.trained(expectation.group).values.values())
        solved, seeds = side.run.solved(values), len(values)
    else:
        if lr is not None and lr not in learning.rates:
            raise ZooError(f"claim: no rate {lr:g} in {listed(map(str, learning.rates))}")
        rate = learning.best if lr is None else learning.rates.index(lr)
        solved = int(learning.solved[rate].sum())
        seeds = int((~np.isnan(learning.examples[rate])).sum())
    if not seeds:
        return Finding(f"{side.label}: not trained", None)
    low, high = wilson(solved / seeds, seeds, Z)
    p = 2 * float(special.ndtr(-abs(solved / seeds - HALF) * math.sqrt(seeds) / HALF))
    holds = None if p >= ALPHA else (solved > HALF * seeds) == (expectation.kind == "solves")
    at = f" at {lr:g}" if lr else ""
    text = f"{side.label} solves {where}{at}: {solved}/{seeds} [{low:.2f}, {high:.2f}]"
    return Finding(text, holds, p, seeds)


def _faster(expectation: Expectation, where: str, side: _Side, other: _Side) -> Finding:
    first, second = side.learning, other.learning
    if first is None or second is None:
        return Finding(f"{side.label}, {other.label}: not trained until solved", None)
    effect = exchanged(second, first)
    holds, p = _compared(effect.ratio, effect.high, effect.p, expectation.by)
    if first.share.high is not None and first.share.high < HALF:
        holds, p = False, min(p, ALPHA)
    text = (
        f"{other.label} needs {effect.ratio:.2g} times the examples of {side.label} on {where} "
        f"[{effect.low:.2g}, {effect.high:.2g}]"
    )
    return Finding(text, holds, p, min(first.runs, second.runs))


def _cheaper(expectation: Expectation, where: str, side: _Side, other: _Side) -> Finding:
    ratio = side.run.speeds.ratio("train", side.name, other.name)
    if ratio is None or ratio.p is None or ratio.high is None:
        return Finding(f"{side.label}, {other.label}: not measured", None, seeds=None)
    # What is too close to 1 to matter, or was disturbed, is not told apart.
    p = 1.0 if ratio.verdict == 0 else ratio.p
    holds, p = _compared(ratio.value, ratio.high, p, expectation.by)
    text = (
        f"{side.label} trains {ratio.value:.2f} times as fast as {other.label} on {where} "
        f"[{ratio.low:.2f}, {ratio.high:.2f}]"
    )
    return Finding(text, holds, p, None)


def _compared(ratio: float, high: float, p: float, by: float | None) -> tuple[bool | None, float]:
    """Whether a ratio that is predicted to be above 1, and at least ``by``, is; and the p of that.

    high: the upper end of its interval. p: that it is 1.
    """
    if by is not None and high < by:
        error = max(math.log(high / ratio), TINY) / Z
        return False, 2 * float(special.ndtr(math.log(ratio / by) / error))
    return (None if p >= LEVEL else ratio > 1), p


def _scores(expectation: Expectation, where: str, side: _Side, other: _Side) -> Finding:
    """Of two rows by themselves: better, or equal."""
    first, second = (each.trained(expectation.group) for each in (side, other))
    difference = Verdicts([first, second]).pair(side.name, other.name)
    if difference is None or difference.p is None or difference.half is None:
        return Finding(f"{side.label}, {other.label}: too few seeds", None)
    metric, error = side.run.metric, max(difference.error, TINY)
    gap, by = metric.better(difference.mean), (expectation.by or 0.0) / metric.scale
    margin = expectation.within / metric.scale
    if expectation.kind == "equal":
        within, beyond = (
            float(special.stdtr(difference.df, sign * (abs(gap) - margin) / error))
            for sign in (1, -1)
        )
        holds = True if within < LEVEL else False if beyond < LEVEL else None
        p = min(within, beyond)
    elif by and gap + difference.half < by:
        holds, p = False, 2 * float(special.stdtr(difference.df, (gap - by) / error))
    else:
        holds, p = (None if difference.p >= LEVEL else gap > 0), difference.p
    text = (
        f"{side.label} against {other.label} on {where}: "
        f"{metric.format_difference(difference.mean, difference.half)} of {metric.label}"
    )
    return Finding(text, holds, p, difference.seeds)


_TESTS: dict[str, Callable[..., Finding]] = {
    "solves": _share,
    "fails": _share,
    "faster": _faster,
    "better": _scores,
    "equal": _scores,
    "cheaper": _cheaper,
}
