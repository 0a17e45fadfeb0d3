"""Whether a run shows what a published claim predicts.

``docs/claims.md`` has the rules as a table. Shares of seeds are judged by Wilson's 95% interval,
examples until solved by the exchange test, scores by the paired t-test, speeds by paired turns,
equality by two one-sided tests (Schuirmann 1987). A claim has eight seeds, and twelve if it is
undecided then; differences are tested at 3% each time (``learning.STAGES``): of rows that learn
alike at every rate some 5% are told apart by mistake, as ``results/simulations`` shows. It holds
where all predictions do (an intersection-union test: Berger 1982).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from zoo.config.claim import Claim, Expectation, Table, find_row
from zoo.errors import ZooError, listed
from zoo.report.rows import ReportRow
from zoo.report.run_report import RunReport
from zoo.report.stats.intervals import ALPHA, wilson
from zoo.report.stats.learning import STAGES, exchanged
from zoo.report.stats.verdicts import Verdicts
from zoo.sweep.records import Record

HALF, MOST_SEEDS, TINY = 0.5, 100, 1e-12
LEVEL = STAGES[0][1]
Z_LEVEL = float(special.ndtri(1 - LEVEL / 2))
HOLDS, REFUTED = "holds here", "does not hold here"


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
        more = f"{needed:.0f} seeds" if needed <= MOST_SEEDS else f"more than {MOST_SEEDS} seeds"
        if any(finding.seeds is None for finding in undecided):
            more = "more --set blocks"
        return f"undecided ({more} would decide it)"

    @property
    def p(self) -> float:
        """Of all predictions together or, where one is refuted, of the one that surely is."""
        refuted = [finding.p for finding in self.findings if finding.holds is False]
        return min(refuted) if refuted else max(finding.p for finding in self.findings)


def judge(claim: Claim, reports: Iterable[RunReport]) -> Judgement:
    """What the reports of a claim's data sets show.

    Raises ZooError where a prediction is of a row, a group or data that are not there.
    """
    runs, tables = list(reports), []
    for run in runs:
        cells = {row.name: row.cell for row in run.recorded_rows if not row.baseline}
        tables.append(Table(run.typical.config["data"]["name"], run.typical.config, cells))
    findings = [_finding(expectation, runs, tables) for expectation in claim.expects]
    seconds = (record.metrics.get("seconds", 0.0) for run in runs for record in run.records)
    return Judgement(claim, findings, sum(seconds) / 60)


def _finding(
    expectation: Expectation, runs: Sequence[RunReport], tables: Sequence[Table]
) -> Finding:
    data, group, rows = expectation.data, expectation.group, []
    names = [*filter(None, (expectation.row, expectation.than))]
    for wanted in names:
        place, name = find_row(wanted, data, tables)
        row = next(row for row in runs[place].recorded_rows if row.name == name)
        if group:
            trained = {seed: _of_group(record, group) for seed, record in row.trained.items()}
            row = replace(row, trained=trained, learning=None)
        rows.append(row)
    options = [f"{name} {value}" for name, value in data.items()] if isinstance(data, dict) else []
    where = ", ".join([tables[place].data, *options, *filter(None, [group])])
    nothing = Finding("not measured", None, seeds=None if expectation.kind == "cheaper" else 0)
    finding = _TESTS[expectation.kind](expectation, runs[place], *rows) or nothing
    return replace(finding, text=f"{' against '.join(names)} on {where}: {finding.text}")


def _of_group(record: Record, group: str) -> Record:
    """The record with the scores of a group of test texts alone."""
    groups = record.metrics.get("groups", {})
    if group not in groups:
        raise ZooError(f"claim: no group '{group}'; there is: {listed(groups or ['none'])}")
    return record.model_copy(update={"metrics": groups[group]})


def _share(asked: Expectation, run: RunReport, row: ReportRow) -> Finding | None:
    """Of seeds that solve the task, against one half: the score test, which Wilson inverts."""
    if learning := row.learning:
        wanted = asked.lr or learning.rate
        rates = [place for place, rate in enumerate(learning.rates) if rate == wanted]
        solved = int(learning.solved[rates].sum())
        seeds = int((~np.isnan(learning.examples[rates])).sum())
    elif run.solved_at is None:
        raise ZooError(f"claim: no {row.metric.label} here counts as solved; 'better' compares it")
    else:
        seeds, solved = len(row.values), run.solved(row.values.values())
    if not seeds:
        return None
    share = wilson(solved / seeds, seeds)
    p = 2 * float(special.ndtr(-abs(share.mean - HALF) * math.sqrt(seeds) / HALF))
    holds = None if p >= ALPHA else (share.mean > HALF) == (asked.kind == "solves")
    at = f" at {asked.lr:g}" if asked.lr else ""
    text = f"solved{at} {solved}/{seeds} [{share.low:.2f}, {share.high:.2f}]"
    return Finding(text, holds, p, seeds)


def _faster(asked: Expectation, _: RunReport, row: ReportRow, other: ReportRow) -> Finding | None:
    first, second = row.learning, other.learning
    if first is None or second is None:
        return None
    effect = exchanged(second, first)
    holds, p = _ratio(effect.ratio, effect.high, effect.p, asked.by)
    if first.share.high is not None and first.share.high < HALF:
        holds, p = False, min(p, ALPHA)  # nothing is fast that never solves
    ratio = f"{effect.ratio:.2f} times the examples [{effect.low:.2f}, {effect.high:.2f}]"
    return Finding(f"{asked.than} needs {ratio}", holds, p, min(first.runs, second.runs))


def _cheaper(
    asked: Expectation, run: RunReport, row: ReportRow, other: ReportRow
) -> Finding | None:
    ratio = run.speeds.ratio("train", row.name, other.name)
    if ratio is None or ratio.p is None or ratio.high is None:
        return None
    # What is too close to 1 to matter, or was disturbed, is not told apart.
    p = 1.0 if ratio.verdict == 0 else ratio.p
    holds, p = _ratio(ratio.value, ratio.high, p, asked.by)
    text = f"trains {ratio.value:.2f} times as fast [{ratio.low:.2f}, {ratio.high:.2f}]"
    return Finding(text, holds, p, None)


def _scores(asked: Expectation, _: RunReport, row: ReportRow, other: ReportRow) -> Finding | None:
    """Of two rows by themselves: better, or equal."""
    difference = Verdicts([row, other]).pair(row.name, other.name)
    if difference is None or difference.p is None or difference.half is None:
        return None
    metric, gap = row.metric, row.metric.better(difference.mean)
    df = difference.df or math.inf  # 0: equal with every seed
    if asked.kind == "equal":
        beyond = abs(gap) - asked.within / metric.scale
        p = float(special.stdtr(df, -abs(beyond) / max(difference.error, TINY)))
        holds = None if p >= LEVEL else beyond < 0
    else:
        by = asked.by and asked.by / metric.scale
        holds, p = _above(gap, gap + difference.half, difference.p, by, df)
    size = metric.format_size(difference.mean, difference.half)
    text = f"{size} {'better' if gap >= 0 else 'worse'}"
    if metric.unit == "points":  # another unit says of what
        text += f", {metric.label}"
    return Finding(text, holds, p, difference.seeds)


def _ratio(ratio: float, high: float, p: float, by: float | None) -> tuple[bool | None, float]:
    return _above(math.log(ratio), math.log(high), p, by and math.log(by), math.inf)


def _above(
    effect: float, high: float, p: float, by: float | None, df: float
) -> tuple[bool | None, float]:
    """Whether an effect that is predicted to be positive, and at least ``by``, is; and the p.

    Where less than ``by`` is seen it is undecided, and refuted if the interval ends below ``by``.
    high: the upper end of its interval, with so many degrees of freedom. p: that it is 0.
    """
    if by is not None and (high < by or (0 < effect < by and math.isfinite(high))):
        error = max((high - effect) / special.stdtrit(df, 1 - ALPHA / 2), TINY)
        short = 2 * float(special.stdtr(df, (effect - by) / error))
        return (False if high < by else None), short
    return (None if p >= LEVEL else effect > 0), p


_TESTS: dict[str, Callable[..., Finding | None]] = {
    "solves": _share,
    "fails": _share,
    "faster": _faster,
    "better": _scores,
    "equal": _scores,
    "cheaper": _cheaper,
}
