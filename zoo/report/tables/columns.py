"""The columns of a report's table: what each one is called, holds and means, in one list.

Terminal, ``table.csv``, Markdown, LaTeX, page and documentation are all made from this list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from zoo.config.metric_description import MetricDescription
from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.rows import Row, trained_on_one_kind_of_machine
from zoo.report.stats.intervals import Interval, over_seeds, sampling_error
from zoo.report.stats.ratios import PHASES, Ratio
from zoo.report.tables.text import plain, ratio_text

Line: TypeAlias = Mapping[str, Any]  # the values of one row by the keys of the columns
REASON = 80  # characters of a reason; table.csv has the whole
ALWAYS = 0  # the priority of a column that every terminal shows
RARELY = 9


@dataclass(frozen=True)
class Column:
    """One column of the table.

    key: its name in ``table.csv``. head: its name for a reader; empty where only ``table.csv`` has
    it. help: what it holds. value: of a row; None where it is unknown. text: what a reader sees of
    a row's line; empty where there is nothing to see. better: 1 where a higher number is better,
    -1 where a lower one is, 0 for words. priority: where there is little room, columns with the
    highest priority are left out first, and those with priority 0 never.
    """

    key: str
    head: str
    help: str
    value: Callable[[Row], Any]
    text: Callable[[Line], str]
    better: int = 0
    priority: int = RARELY


def columns_of(run: EvaluatedRun) -> list[Column]:
    """All columns of a run's table, in their order."""
    return [
        *_axes(run),
        *_outcome(run),
        *_scores(run),
        *_settings(run),
        *_speeds(run),
        *_costs(run),
        *_facts(run),
    ]


def _hidden(key: str, help: str, value: Callable[[Row], Any]) -> Column:
    """A column of ``table.csv`` alone."""
    return Column(key, "", help, value, lambda line: "")


def _number(
    key: str,
    head: str,
    help: str,
    value: Callable[[Row], Any],
    form: str,
    better: int = -1,
    priority: int = RARELY,
) -> Column:
    """form: of the number, as ``str.format`` reads it."""

    def text(line: Line) -> str:
        return "" if line[key] is None else form.format(line[key])

    return Column(key, head, help, value, text, better, priority)


def _axes(run: EvaluatedRun) -> list[Column]:
    """A reader sees the axes on which cells differ, and the first, which names baselines."""
    first, *others = run.axis_names
    shown = {first, *(run.axes or [first, *others[:1]])}

    def column(axis: str) -> Column:
        def value(row: Row) -> str:
            return row.baseline if row.baseline and axis == first else row.cell.get(axis, "")

        head = axis if axis in shown else ""
        about = f"The cell's choice of {axis}."
        if axis == first:
            about = f"The cell's choice of {axis}, or the name of a baseline."
        return Column(axis, head, about, value, lambda line: str(line[axis]), priority=ALWAYS)

    return [column(axis) for axis in run.axis_names]


def _outcome(run: EvaluatedRun) -> list[Column]:
    ranks, tied = run.verdicts.ranks(), set(run.verdicts.tied())
    rows_of = Counter(ranks.values())

    def reason(row: Row) -> str:
        bad = row.bad
        text = bad.reason if bad else ""
        if bad is not None and bad.status != "skipped":
            text = f"{'cost' if bad.kind == 'cost' else f'seed {bad.seed}'}: {text}"
        return "; ".join(filter(None, [row.tried, text])) if row.only_tuned else text

    def tie(row: Row) -> bool | None:
        return None if row.name not in ranks else len(tied) > 1 and row.name in tied

    def rank_text(line: Line) -> str:
        rank = line["rank"]
        return "" if rank is None else f"{rank}{'=' if rows_of[rank] > 1 else ''}"

    return [
        Column(
            "status",
            "status",
            "How the row failed; empty where it is ok.",
            value=lambda row: row.status,
            text=lambda line: "" if line["status"] == "ok" else line["status"],
            priority=3,
        ),
        Column(
            "reason",
            "reason",
            "What made the row fail, or why it was skipped.",
            value=reason,
            text=lambda line: plain(line["reason"], REASON),
        ),
        Column(
            "rank",
            "rank",
            "1 + the number of rows that are significantly better.",
            value=lambda row: ranks.get(row.name),
            text=rank_text,
            better=-1,
            priority=5,
        ),
        _hidden("tie", "Whether the row ties with the best cell, and that one is not alone.", tie),
    ]


def _scores(run: EvaluatedRun) -> list[Column]:
    metric, name = run.metric, run.metric.name

    def interval(row: Row) -> Interval | None:
        return run.verdicts.intervals.get(row.name)

    def error(row: Row) -> float | None:
        known = interval(row)
        return sampling_error(known.mean, row.effective_examples) if known else None

    def part(which: str) -> Callable[[Row], Any]:
        return lambda row: getattr(interval(row), which, None)

    def mean_of(other: MetricDescription) -> Callable[[Row], float | None]:
        return lambda row: _mean(list(row.values_of(other.name).values()))

    worth = "higher" if metric.higher_is_better else "lower"
    return [
        Column(
            f"{name}_mean",
            metric.label,
            f"The mean over seeds with its 95% interval; {worth} is better.",
            value=part("mean"),
            text=lambda line: run.score_text(line["name"]),
            better=metric.direction,
            priority=ALWAYS,
        ),
        _hidden(f"{name}_std", "The standard deviation over seeds.", part("sd")),
        _hidden(f"{name}_low", "The lower end of the 95% interval of the mean.", part("low")),
        _hidden(f"{name}_high", "The upper end of that interval.", part("high")),
        _hidden(
            f"{name}_sampling_error",
            "How far one model's score may be off on another test set of this size (95%).",
            error,
        ),
        *(
            _number(
                f"{other.name}_mean",
                other.label,
                "The mean over seeds of another metric.",
                value=mean_of(other),
                form=f"{{:.{other.digits}f}}",
                better=other.direction,
                priority=8,
            )
            for other in run.metrics[1:]
        ),
    ]


def _settings(run: EvaluatedRun) -> list[Column]:
    def loss(name: str) -> Callable[[Row], float | None]:
        return lambda row: row.auxiliary.get(name)

    def setting(name: str) -> Callable[[Row], float | None]:
        return lambda row: row.chosen.get(name)

    def seeds_text(line: Line) -> str:
        scored = line[f"{run.metric.name}_mean"] is not None
        return str(line["seeds"]) if scored and not line["deterministic"] else ""

    return [
        *(
            _number(
                f"{name}_loss",
                f"{name} loss",
                "What a part of the model adds to the loss of the task in training: the mean in "
                "the last epoch, before its weight.",
                value=loss(name),
                form="{:.4g}",
            )
            for name in run.auxiliary
        ),
        *(
            _number(
                name,
                name.replace("_", " "),
                "The value that was chosen for this row.",
                value=setting(name),
                form="{:g}",
                priority=8,
            )
            for name in run.tuned
        ),
        Column(
            "seeds",
            "seeds",
            "How many trainings the score is the mean of.",
            value=lambda row: len({record.seed for record in row.trained.values()}),
            text=seeds_text,
            better=-1,
            priority=7,
        ),
        _number(
            "params",
            "params",
            "The parameters of the model.",
            value=lambda row: row.parameters or None,
            form="{:,.0f}",
            priority=8,
        ),
    ]


def _speeds(run: EvaluatedRun) -> list[Column]:
    """Speeds are the ratio times the reference's rate, so that no two columns disagree."""
    speeds, reference = run.speeds, run.reference

    def of_phase(phase: str, priority: int) -> list[Column]:
        key, what = f"{phase}_ratio", {"train": "training", "infer": "inference"}[phase]

        def ratio(row: Row) -> Ratio | None:
            if row.name not in speeds.measured:
                return None
            itself = Ratio(1.0) if row.name == reference else None
            return speeds.ratio(phase, row.name, reference) or itself

        def part(which: str) -> Callable[[Row], Any]:
            return lambda row: getattr(ratio(row), which, None)

        def tie(row: Row) -> bool | None:
            verdict = part("verdict")(row)
            return None if verdict is None else verdict == 0

        def text(line: Line) -> str:
            if line["name"] == reference and line[key] is not None:
                return "reference"
            return ratio_text(line[key], apart=line[f"{phase}_tie"] is False)

        return [
            _number(
                f"{phase}_tokens_per_s",
                f"{phase} tok/s",
                f"Real tokens a second in {what}, padding not counted.",
                value=lambda row: run.rate(phase, row),
                form="{:,.0f}",
                better=1,
                priority=priority,
            ),
            Column(
                key,
                f"× {phase}",
                f"The speed in {what} divided by the reference's in the same blocks; "
                "~: not told apart from 1.",
                value=part("value"),
                text=text,
                better=1,
                priority=max(6, priority),
            ),
            _hidden(f"{key}_low", "The lower end of the 95% interval of the ratio.", part("low")),
            _hidden(f"{key}_high", "The upper end of that interval.", part("high")),
            _hidden(f"{phase}_tie", "Whether the ratio is not told apart from 1.", tie),
        ]

    def contended(row: Row) -> bool | None:
        return speeds.contended(row.name) if row.name in speeds.measured else None

    priorities = dict(zip(PHASES, (ALWAYS, 7), strict=True))
    return [
        *(column for phase, priority in priorities.items() for column in of_phase(phase, priority)),
        Column(
            "contended",
            "contended",
            "Whether other work had the cores while it was timed.",
            value=contended,
            text=lambda line: "yes" if line["contended"] else "",
            priority=4,
        ),
    ]


def _costs(run: EvaluatedRun) -> list[Column]:
    def cost(name: str) -> Callable[[Row], float | None]:
        return lambda row: row.cost.get(name)

    def memory_ratio(row: Row) -> float | None:
        own = row.cost.get("peak_memory_mib")
        other = run.reference_row.cost.get("peak_memory_mib") if run.reference_row else None
        return own / other if own and other else None

    alike = trained_on_one_kind_of_machine(run.recorded_rows)

    def seconds(row: Row) -> float | None:
        trained = [record.metrics for record in row.trained.values()]
        values = [metrics["train_seconds"] for metrics in trained if "train_seconds" in metrics]
        return _mean(values) if alike else None

    return [
        _number(
            "latency_ms",
            "latency ms",
            "The milliseconds until one text is answered.",
            value=cost("latency_ms"),
            form="{:.2f}",
        ),
        _number(
            "peak_memory_mib",
            "memory MiB",
            "The peak memory in training, measured once.",
            value=cost("peak_memory_mib"),
            form="{:,.0f}",
            priority=ALWAYS,
        ),
        _hidden("memory_ratio", "That memory divided by the reference's.", memory_ratio),
        _number(
            "train_seconds",
            "train s",
            "The seconds of one whole training, the mean over seeds; empty where trainings ran on "
            "machines that differ.",
            value=seconds,
            form="{:.1f}",
        ),
    ]


def _facts(run: EvaluatedRun) -> list[Column]:
    return [
        _hidden("name", "The whole name of the row.", lambda row: row.name),
        _hidden("reference", "The row that ratios are to.", lambda row: run.reference),
        _hidden("baseline", "The name of a baseline; empty for a cell.", lambda row: row.baseline),
        _hidden(
            "deterministic", "Whether no seed changes the model.", lambda row: row.deterministic
        ),
    ]


def _mean(values: list[float]) -> float | None:
    interval = over_seeds(values)
    return interval.mean if interval else None
