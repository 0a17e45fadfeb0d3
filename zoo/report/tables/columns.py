"""The columns of a report's table: what each one is called, holds and means, in one list.

Terminal, ``table.csv``, Markdown, LaTeX, page and documentation are all made from this list.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.rows import Row, trained_on_one_kind_of_machine
from zoo.report.stats.intervals import Interval, over_seeds
from zoo.report.stats.ratios import PHASES, Ratio
from zoo.report.tables.text import plain, ratio_text

Value: TypeAlias = Callable[[Any], Any]  # of a row of the table
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
    reader sees of it; empty where there is nothing to see.
    """

    key: str
    head: str
    help: str
    better: int
    priority: int
    value: Value
    text: Callable[[Any], str] = lambda row: ""


def columns_of(run: EvaluatedRun) -> list[Column]:
    """All columns of a run's table, in their order."""
    return [*_names(run), *_outcome(run), *_scores(run), *_sizes(run), *_speeds(run), *_costs(run)]


def _hidden(key: str, help: str, value: Value) -> Column:
    """A column of ``table.csv`` alone."""
    return Column(key, "", help, 0, RARELY, value)


def _number(
    key: str, head: str, help: str, better: int, priority: int, value: Value, form: str
) -> Column:
    """form: of the number, as ``str.format`` reads it."""

    def text(row: Row) -> str:
        number = value(row)
        return "" if number is None else form.format(number)

    return Column(key, head, help, better, priority, value, text)


def _names(run: EvaluatedRun) -> list[Column]:
    """A reader sees the axes on which cells differ, and the first, which names baselines."""
    first, *others = run.axis_names
    shown = {first, *(run.axes or [first, *others[:1]])}

    def column(axis: str) -> Column:
        def choice(row: Row) -> str:
            return row.baseline if row.baseline and axis == first else row.cell.get(axis, "")

        help = f"The choice of {axis}{', or the name of a baseline' if axis == first else ''}."
        return Column(axis, axis if axis in shown else "", help, 0, ALWAYS, choice, choice)

    return [
        *map(column, run.axis_names),
        _hidden("name", "The whole name of the row.", lambda row: row.name),
        _hidden("baseline", "The name of a baseline; empty for a cell.", lambda row: row.baseline),
    ]


def _outcome(run: EvaluatedRun) -> list[Column]:
    ranks, tied = run.verdicts.ranks(), set(run.verdicts.tied())
    rows_of = Counter(ranks.values())

    def status_text(row: Row) -> str:
        return "" if row.status == "ok" else row.status

    def reason(row: Row) -> str:
        bad = row.bad
        text = bad.reason if bad else ""
        if bad is not None and bad.status != "skipped":
            text = f"{'cost' if bad.kind == 'cost' else f'seed {bad.seed}'}: {text}"
        return "; ".join(filter(None, [row.tried, text])) if row.only_tuned else text

    def rank_text(row: Row) -> str:
        rank = ranks.get(row.name)
        return "" if rank is None else f"{rank}{'=' if rows_of[rank] > 1 else ''}"

    def tie(row: Row) -> bool | None:
        return None if row.name not in ranks else len(tied) > 1 and row.name in tied

    status, why = "How the row failed; empty where it is ok.", "What made it fail or be skipped."
    rank = "1 + the number of rows that are significantly better; =: several rows have this rank."
    return [
        Column("status", "status", status, 0, 3, lambda row: row.status, status_text),
        Column("reason", "reason", why, 0, RARELY, reason, lambda row: plain(reason(row), REASON)),
        Column("rank", "rank", rank, -1, 5, lambda row: ranks.get(row.name), rank_text),
        _hidden("tie", "Whether the row ties with the best cell, and that one is not alone.", tie),
    ]


def _scores(run: EvaluatedRun) -> list[Column]:
    metric, name = run.metric, run.metric.name

    def interval(row: Row) -> Interval | None:
        return run.verdicts.intervals.get(row.name)

    def part(which: str) -> Value:
        return lambda row: getattr(interval(row), which, None)

    def mean_of(other: str) -> Value:
        return lambda row: _mean(list(row.values_of(other).values()))

    error = run.sampling_error
    worth = "higher" if metric.higher_is_better else "lower"
    return [
        Column(
            f"{name}_mean",
            metric.label,
            f"The mean over seeds with its 95% interval; {worth} is better.",
            metric.direction,
            ALWAYS,
            part("mean"),
            lambda row: run.score_text(row.name),
        ),
        _hidden(f"{name}_low", "The lower end of the 95% interval of the mean.", part("low")),
        _hidden(f"{name}_high", "The upper end of that interval.", part("high")),
        _hidden(f"{name}_sampling_error", "How far another test set may be off.", error),
        *(
            _number(
                f"{other.name}_mean",
                other.label,
                "The mean over seeds of another metric.",
                other.direction,
                8,
                mean_of(other.name),
                f"{{:.{other.digits}f}}",
            )
            for other in run.metrics[1:]
        ),
    ]


def _sizes(run: EvaluatedRun) -> list[Column]:
    def setting(name: str) -> Column:
        help = "The value that was chosen for this row."
        head = name.replace("_", " ")
        return _number(name, head, help, -1, 8, lambda row: row.chosen.get(name), "{:g}")

    def seeds(row: Row) -> int:
        return len({record.seed for record in row.trained.values()})

    def seeds_text(row: Row) -> str:
        return str(seeds(row)) if row.values and not row.deterministic else ""

    trained, size = "How many trainings the score is the mean of.", "The parameters of the model."
    return [
        *map(setting, run.tuned),
        Column("seeds", "seeds", trained, -1, 7, seeds, seeds_text),
        _hidden("deterministic", "Whether no seed changes it.", lambda row: row.deterministic),
        _number("params", "params", size, -1, 8, lambda row: row.parameters or None, "{:,.0f}"),
    ]


def _speeds(run: EvaluatedRun) -> list[Column]:
    """Speeds are the ratio times the reference's rate, so that no two columns disagree."""
    speeds, reference = run.speeds, run.reference

    def of_phase(phase: str, what: str, priority: int) -> list[Column]:
        key = f"{phase}_ratio"

        @functools.cache
        def ratio(name: str) -> Ratio | None:
            if name not in speeds.measured:
                return None
            return Ratio(1.0) if name == reference else speeds.ratio(phase, name, reference)

        def part(which: str) -> Value:
            return lambda row: getattr(ratio(row.name), which, None)

        def text(row: Row) -> str:
            known = ratio(row.name)
            if known is None or row.name == reference:
                return "reference" if known else ""
            return ratio_text(known.value, known.verdict)

        return [
            _number(
                f"{phase}_tokens_per_s",
                f"{phase} tok/s",
                f"Tokens a second in {what}, without padding.",
                1,
                priority,
                lambda row: run.rate(phase, row),
                "{:,.0f}",
            ),
            Column(
                key,
                f"× {phase}",
                f"Its speed in {what} over the reference's in the same blocks; ~: not told apart.",
                1,
                max(6, priority),
                part("value"),
                text,
            ),
            _hidden(f"{key}_low", "The lower end of the 95% interval of the ratio.", part("low")),
            _hidden(f"{key}_high", "The upper end of that interval.", part("high")),
        ]

    def contended(row: Row) -> bool | None:
        return speeds.contended(row.name) if row.name in speeds.measured else None

    def contended_text(row: Row) -> str:
        return "yes" if contended(row) else ""

    busy = "Whether other work had the cores while it was timed."
    train, infer = PHASES
    return [
        *of_phase(train, "training", ALWAYS),
        *of_phase(infer, "inference", 7),
        Column("contended", "contended", busy, 0, 4, contended, contended_text),
        _hidden("reference", "The row that ratios are to.", lambda row: reference),
    ]


def _costs(run: EvaluatedRun) -> list[Column]:
    alike = trained_on_one_kind_of_machine(run.recorded_rows)

    def cost(name: str) -> Value:
        return lambda row: row.cost.get(name)

    def seconds(row: Row) -> float | None:
        return _mean(row.recorded("train_seconds")) if alike else None

    peak = cost("peak_memory_mib")
    latency, memory = "Milliseconds until one text is answered.", "Peak memory in training."
    whole = "Seconds of one training, the mean over seeds; empty where its machines differ."
    return [
        _number("latency_ms", "latency ms", latency, -1, RARELY, cost("latency_ms"), "{:.2f}"),
        _number("peak_memory_mib", "memory MiB", memory, -1, ALWAYS, peak, "{:,.0f}"),
        _number("train_seconds", "train s", whole, -1, RARELY, seconds, "{:.1f}"),
    ]


def _mean(values: list[float]) -> float | None:
    interval = over_seeds(values)
    return interval.mean if interval else None
