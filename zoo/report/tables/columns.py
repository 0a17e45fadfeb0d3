"""The columns of a report's table: what each one is called, holds and means, in one list.

Terminal, ``table.csv``, Markdown, LaTeX, page and documentation are all made from this list.
"""

from __future__ import annotations

import functools
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import pandas as pd

from zoo.config.metric_description import MetricDescription
from zoo.errors import counted
from zoo.measure.turns import PHASES
from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.rows import ReportRow
from zoo.report.tables.text import plain, ratio_text, tabulated

Value: TypeAlias = Callable[[ReportRow], Any]
REASON = 80  # characters of a reason; table.csv has the whole
ALWAYS = 0  # the priority of a column that every terminal shows
RARELY = 9


@dataclass(frozen=True)
class Column:
    """One column of the table.

    key: its name in ``table.csv``. head: its name for a reader; empty where only ``table.csv`` has
    it. help: what it holds. better: 1 where a higher number is better, -1 where a lower one is, 0
    for words. priority: where there is little room, columns with the highest priority are left out
    first, and those with priority 0 never. value: of a row; None where it is unknown. text: what a
    reader sees of it, a format of the value or a function of the row; empty, or None, where there
    is nothing to see.
    """

    key: str
    head: str
    help: str
    better: int
    priority: int
    value: Value
    text: str | Callable[[ReportRow], str | None] = "{}"

    def shown(self, row: ReportRow) -> str:
        """What a reader sees of a row."""
        if not isinstance(self.text, str):
            return self.text(row) or ""
        value = self.value(row)
        return "" if value is None else self.text.format(value)


@dataclass(frozen=True)
class ReportTable:
    """Rows and their columns, which read values of the rows."""

    rows: Sequence[ReportRow]
    columns: list[Column]

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """Of each row, the value of each column by its key; None where it is unknown."""
        return [{column.key: column.value(row) for column in self.columns} for row in self.rows]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The values: what ``table.csv`` holds; what is unknown is NaN."""
        frame = pd.DataFrame(self.lines, columns=[column.key for column in self.columns])
        unknown = {key: "float" for key in frame if frame[key].isna().all()}
        return frame.astype({**unknown, "rank": "Int64"})

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """Key to the text of each row, of the columns that have something to read."""
        texts = {c.key: [c.shown(row) for row in self.rows] for c in self.columns if c.head}
        return {key: column for key, column in texts.items() if any(column)}

    @cached_property
    def readable(self) -> list[Column]:
        """The columns of ``texts``."""
        return [column for column in self.columns if column.key in self.texts]

    def text(self, style: str = "simple", width: int | None = None) -> str:
        """The table in a style of tabulate's, each row on one line.

        width: of a terminal, in characters; columns that do not fit are left out and counted, those
        with the highest priority first.
        """
        columns = list(self.readable)
        while True:
            rows = list(zip(*(self.texts[column.key] for column in columns), strict=True))
            align = ["right" if column.better else "left" for column in columns]
            text = tabulated(rows, [column.head for column in columns], style, align)
            least = max(reversed(columns), key=lambda column: column.priority, default=None)
            fits = width is None or max(map(len, text.splitlines())) <= width
            if fits or least is None or least.priority == ALWAYS:
                break
            columns.remove(least)
        left_out = len(self.readable) - len(columns)
        return text + (f"\n({counted(left_out, 'more column')} in table.csv)" if left_out else "")


def make_table(run: EvaluatedRun) -> ReportTable:
    """The table of a run: all its columns, in their order."""
    scores = _learned(run) if run.learning else _scores(run)
    columns = [*_names(run), *_outcome(run), *scores, *_sizes(run)]
    for phase, priority in zip(PHASES, (ALWAYS, 7), strict=True):
        columns += _speeds(run, phase, priority)
    return ReportTable(run.rows, [*columns, *_costs()])


def _hidden(key: str, help: str, value: Value) -> Column:
    """A column of ``table.csv`` alone."""
    return Column(key, "", help, 0, RARELY, value)


def _of(known: Mapping[str, Any], attribute: str) -> Value:
    """An attribute of what is known of each row, by its name."""
    return lambda row: getattr(known.get(row.name), attribute, None)


def _by_name(values: Mapping[str, Any]) -> Value:
    """What is known of each row, by its name; None where it is not there."""
    return lambda row: values.get(row.name)


def _ends(key: str, what: str, intervals: Mapping[str, Any]) -> list[Column]:
    """The ends of a 95% interval, for ``table.csv``."""
    low, high = f"The lower end of the 95% interval of the {what}.", "The upper end of it."
    ends = ("low", low), ("high", high)
    return [_hidden(f"{key}_{end}", help, _of(intervals, end)) for end, help in ends]


def _names(run: EvaluatedRun) -> list[Column]:
    """A reader sees the axes on which cells differ, and the first, which names baselines."""
    first, *others = run.axis_names
    shown = {first, *(run.axes or [first, *others[:1]])}

    def column(axis: str) -> Column:
        def choice(row: ReportRow) -> str:
            return row.baseline if row.baseline and axis == first else row.cell.get(axis, "")

        help = f"The choice of {axis}{', or the name of a baseline' if axis == first else ''}."
        return Column(axis, axis if axis in shown else "", help, 0, ALWAYS, choice)

    return [
        *map(column, run.axis_names),
        _hidden("name", "The whole name of the row.", lambda row: row.name),
        _hidden("baseline", "The name of a baseline; empty for a cell.", lambda row: row.baseline),
    ]


def _outcome(run: EvaluatedRun) -> list[Column]:
    ranks = run.verdicts.ranks()
    rows_of = Counter(ranks.values())
    texts = {name: f"{rank}{'=' if rows_of[rank] > 1 else ''}" for name, rank in ranks.items()}

    def status_text(row: ReportRow) -> str:
        return "" if row.status == "ok" else row.status

    def reason(row: ReportRow) -> str:
        return row.bad.reason if row.bad else ""

    status, why = "How the row failed; empty where it is ok.", "What made it fail or be skipped."
    rank = "1 + the number of rows that are significantly better; =: several rows have this rank."
    return [
        Column("status", "status", status, 0, 3, lambda row: row.status, status_text),
        Column("reason", "reason", why, 0, RARELY, reason, lambda row: plain(reason(row), REASON)),
        Column("rank", "rank", rank, -1, 5, _by_name(ranks), _by_name(texts)),
    ]


def _scores(run: EvaluatedRun) -> list[Column]:
    metric, intervals = run.metric, run.verdicts.intervals
    worth = "higher" if metric.higher_is_better else "lower"
    help = f"The mean over seeds with its 95% interval; {worth} is better."
    mean, key = _of(intervals, "mean"), f"{metric.name}_mean"
    texts = {name: interval.text(metric.digits) for name, interval in intervals.items()}

    def of_other(other: MetricDescription) -> Column:
        values = {row.name: row.values_of(other.name).values() for row in run.rows}
        means = {name: statistics.fmean(of_row) for name, of_row in values.items() if of_row}
        key, form = f"{other.name}_mean", f"{{:.{other.digits}f}}"
        help = "The mean over seeds of another metric."
        return Column(key, other.label, help, other.direction, 8, _by_name(means), form)

    return [
        Column(key, metric.label, help, metric.direction, ALWAYS, mean, _by_name(texts)),
        *_ends(metric.name, "mean", intervals),
        *map(of_other, run.metrics[1:]),
    ]


def _learned(run: EvaluatedRun) -> list[Column]:
    """What rows learn of a streamed diagnostic, instead of a mean over seeds."""
    metric, of = run.metric, functools.partial(_of, run.learning)
    texts = {name: learning.text() for name, learning in run.learning.items()}
    shares = {name: learning.share for name, learning in run.learning.items()}
    windows = {name: learning.window for name, learning in run.learning.items()}
    widths = {name: len(of_row) for name, of_row in windows.items()}
    rates = {name: ", ".join(f"{rate:g}" for rate in of_row) for name, of_row in windows.items()}
    solved = "In how many runs at the best rate it was solved, after how many examples (median)."
    window = "The rates at which more than half of the seeds solve it; in table.csv how many."
    score = "The median score of the test split over the runs at the best rate."
    share = "end of Wilson's 95% interval of the share of runs that solve."
    key, direction, digits = f"{metric.name}_median", metric.direction, f"{{:.{metric.digits}f}}"
    return [
        Column("solved", "solved", solved, 1, ALWAYS, of("times_solved"), _by_name(texts)),
        _hidden("runs", "How many runs there are at the best rate.", of("runs")),
        _hidden("low", f"The lower {share}", _of(shares, "low")),
        _hidden("high", f"The upper {share}", _of(shares, "high")),
        _hidden("median_examples", "Examples until solved.", of("median")),
        Column(key, metric.label, score, direction, ALWAYS, of("score"), digits),
        Column("window", "rates", window, 1, 4, _by_name(widths), _by_name(rates)),
        Column("best_lr", "best rate", "The best rate.", 0, 6, of("rate"), "{:g}"),
        _hidden("floor", "The score that needs no skill.", lambda row: run.chance),
        _hidden("solved_at", "The score that counts as solved.", lambda row: run.solved_at),
    ]


def _sizes(run: EvaluatedRun) -> list[Column]:
    def setting(name: str) -> Column:
        help, head = "The value that was chosen for this row.", name.replace("_", " ")
        return Column(name, head, help, -1, 8, lambda row: row.chosen.get(name), "{:g}")

    def seeds(row: ReportRow) -> int:
        return len({record.seed for record in row.trained.values()})

    tuned = dict.fromkeys(name for row in run.recorded_rows for name in row.chosen)
    trained, size = "How many trainings the score is the mean of.", "The parameters of the model."
    return [
        *map(setting, tuned),
        Column("seeds", "seeds", trained, -1, 7, seeds, lambda row: str(seeds(row) or "")),
        Column("params", "params", size, -1, 8, lambda row: row.parameters, "{:,.0f}"),
    ]


def _speeds(run: EvaluatedRun, phase: str, priority: int) -> list[Column]:
    """Speeds are the ratio times the reference's rate, so that no two columns disagree."""
    speeds, reference, key = run.speeds, run.reference, f"{phase}_ratio"
    per_second = "Tokens a second, without padding."
    help = "Its speed over the reference's in the same blocks; ~: not told apart."
    rates = {name: speeds.rate(phase, name) for name in speeds.measured}
    ratios = {name: speeds.ratio(phase, name, reference) for name in speeds.measured}
    texts = {name: ratio_text(of.value, of.verdict) for name, of in ratios.items() if of}
    texts |= {reference: "reference"} if reference in ratios else {}
    rate_key, head = f"{phase}_tokens_per_s", f"{phase} tok/s"
    return [
        Column(rate_key, head, per_second, 1, priority, _by_name(rates), "{:,.0f}"),
        Column(key, f"× {phase}", help, 1, max(6, priority), _of(ratios, "value"), _by_name(texts)),
        *_ends(key, "ratio", ratios),
    ]


def _costs() -> list[Column]:
    def cost(name: str, head: str, help: str, priority: int, form: str) -> Column:
        return Column(name, head, help, -1, priority, lambda row: row.cost.get(name), form)

    latency, memory = "Milliseconds until one text is answered.", "Peak memory in training."
    return [
        cost("latency_ms", "latency ms", latency, RARELY, "{:.2f}"),
        cost("peak_memory_mib", "memory MiB", memory, ALWAYS, "{:,.0f}"),
    ]
