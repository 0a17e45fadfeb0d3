"""Records become one row per cell: quality, speed and memory of the same model."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from zoo.config.metric_description import MetricDescription
from zoo.report.rows import Row, trained_on_one_kind_of_machine
from zoo.report.stats.intervals import over_seeds, sampling_error
from zoo.report.stats.ratios import PHASES, memory_verdict

if TYPE_CHECKING:
    from zoo.report.run_report import RunReport

# Columns that have the names of metrics in records of kind "cost".
COST_COLUMNS = ("latency_ms", "peak_memory_mib")
MORE_COST_COLUMNS = (
    "latency_p95_ms",
    "held_memory_mib",
    "infer_memory_mib",
    "reserved_memory_mib",
    "flops_per_token",
    "matrix_share",
    "compile_seconds",
)
SECONDS = ("train_seconds", "pretrain_seconds")
OPTIONAL = ("pretrain_seconds", "held_memory_mib")  # left out where no row has them
NO_ROW = Row("", {}, "")  # of a table without rows, whose columns are there
NOT_TRAINED = "not trained"  # the status of a row that has tuning trials alone


def lines_of_table(run: RunReport) -> list[tuple[Row, dict[str, Any]]]:
    """Each row with its line of ``table.csv``: the best first, baselines too; then what failed.

    Columns named after metrics are in the metrics' own units; ratios and shares are plain numbers.
    ``tie``: whether a row cannot be distinguished from the best cell, which is not alone. The
    ``tie`` of a speed is True, False, or None if unknown, as every other value.
    """
    rows = run.recorded_rows or [NO_ROW]
    standings = _standings(run, rows)
    lines = [_results(run, row) | standings[row.name] | _costs(run, row) for row in rows]
    if not trained_on_one_kind_of_machine(rows):
        lines = [line | dict.fromkeys(SECONDS) for line in lines]
    for name in OPTIONAL:
        if not any(line[name] for line in lines):
            lines = [{k: value for k, value in line.items() if k != name} for line in lines]

    def order(found: tuple[Row, dict[str, Any]]) -> tuple[bool, float, float]:
        _, line = found
        score, speed = line[f"{run.metric.name}_mean"], line["train_tokens_per_s"]
        return (
            line["status"] != "ok",
            math.inf if score is None else -run.metric.better(score),
            math.inf if speed is None else -speed,
        )

    return sorted(zip(rows, lines, strict=True), key=order)


def _results(run: RunReport, row: Row) -> dict[str, Any]:
    """What its trainings gave. A baseline's name is in the column of the first axis."""
    cost, metric = row.cost, row.metric
    metrics = [record.metrics for record in row.trained.values()]
    means = {m.name: over_seeds(list(row.values_of(m.name).values())) for m in row.metrics}
    seconds = {name: over_seeds([m[name] for m in metrics if name in m]) for name in SECONDS}
    bad, reason = row.bad, row.bad.reason if row.bad else ""
    if bad is not None and bad.status != "skipped":
        reason = f"{'cost' if bad.kind == 'cost' else f'seed {bad.seed}'}: {reason}"
    status: str = bad.status if bad else "ok"
    if row.only_tuned:
        status, reason = NOT_TRAINED, "; ".join(filter(None, [row.tried, reason]))
    ranked, *others = means.items()
    axes = {axis: row.cell.get(axis, "") for axis in run.axis_names}
    if row.baseline:
        axes[run.axis_names[0]] = row.baseline
    return {
        **axes,
        "status": status,
        "reason": reason,
        "seeds": len({record.seed for record in row.trained.values()}),
        "params": row.parameters or None,
        f"{metric.name}_mean": ranked[1].mean if ranked[1] else None,
        f"{metric.name}_std": ranked[1].sd if ranked[1] else None,
        **{f"{name}_mean": found.mean if found else None for name, found in others},
        **{f"{name}_loss": row.auxiliary.get(name) for name in run.auxiliary},
        **{name: row.chosen.get(name) for name in run.tuned},
        **{f"{phase}_tokens_per_s": _rate(run, row, phase) for phase in phases_of(run)},
        **{column: cost.get(column) for column in COST_COLUMNS},
        **{name: found.mean if found else None for name, found in seconds.items()},
    }


def _standings(run: RunReport, rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Row to its rank, ties, intervals and place on the fronts."""
    verdicts, speeds = run.verdicts, run.speeds
    ranks, tied = verdicts.ranks(), set(verdicts.tied())
    memory: dict[str, Any] = {row.name: row.cost.get("peak_memory_mib") for row in rows}

    def faster(one: str, other: str) -> int | None:
        ratio = speeds.ratio("train", one, other)
        return ratio.verdict if ratio else None

    def smaller(one: str, other: str) -> int | None:
        return memory_verdict(memory[one], memory[other])

    def front(known: Container[str], cheaper: Verdict) -> dict[str, Standing]:
        cells, rivals = (
            [row.name for row in of if not row.baseline and row.name in known]
            for of in (verdicts.rows, verdicts.rivals)
        )
        return pareto(cells, verdicts.verdict, cheaper, rivals)

    speed_front = front(speeds.measured, faster)
    memory_front = front({name for name, peak in memory.items() if peak}, smaller)
    columns = {}
    for row in rows:
        metric, rank, values = row.metric, ranks.get(row.name), verdicts.intervals.get(row.name)
        low, high = (values.low, values.high) if values else (None, None)
        if low is not None and metric.lowest is not None:
            low = max(low, metric.lowest)  # no true value is lower
        if high is not None and metric.highest is not None:
            high = min(high, metric.highest)
        error = sampling_error(values.mean, row.effective_examples) if values else None
        columns[row.name] = {
            "rank": rank,
            "tie": None if rank is None else len(tied) > 1 and row.name in tied,
            f"{metric.name}_low": low,
            f"{metric.name}_high": high,
            f"{metric.name}_sampling_error": error,
            "test_examples": row.examples or None,
            "pareto_speed": speed_front.get(row.name, ""),
            "pareto_memory": memory_front.get(row.name, ""),
        }
    return columns


def phases_of(run: RunReport) -> list[str]:
    """Training and inference, and what else any row was timed in."""
    return list(dict.fromkeys([*PHASES, *run.speeds.phases]))


def _rate(run: RunReport, row: Row, phase: str, padded: str = "") -> float | None:
    """Tokens/s: the ratio times the reference's, so that no two columns contradict each other.

    Of a row without a ratio, as it was measured. padded: ``padded_``, with padding counted.
    """
    rate, real = run.speeds.rate(phase, row.name), row.cost.get(f"{phase}_tokens_per_s")
    measured: float | None = row.cost.get(f"{phase}_{padded}tokens_per_s")
    if rate is None or not padded:
        return measured if rate is None else rate
    return rate * measured / real if measured and real else None


def _costs(run: RunReport, row: Row) -> dict[str, Any]:
    """Speed and memory relative to the reference; everything else a cost measurement found."""
    speeds, reference = run.speeds, run.reference
    measured = row.name in speeds.measured
    columns: dict[str, Any] = {
        "reference": reference,
        "blocks": speeds.blocks(row.name) if measured else None,
        "contended": speeds.contended(row.name) if measured else None,
    }
    for phase in phases_of(run):
        ratio = speeds.ratio(phase, row.name, reference) if measured else None
        verdict = ratio.verdict if ratio else None
        itself = measured and row.name == reference
        columns |= {
            f"{phase}_ratio": ratio.value if ratio else 1.0 if itself else None,
            f"{phase}_ratio_low": ratio.low if ratio else None,
            f"{phase}_ratio_high": ratio.high if ratio else None,
            f"{phase}_tie": None if verdict is None else verdict == 0,
        }
    own = row.cost.get("peak_memory_mib")
    other = run.reference_row.cost.get("peak_memory_mib") if run.reference_row else None
    return columns | {
        "memory_ratio": own / other if own and other else None,
        "baseline": row.baseline,
        **{f"{phase}_padded_tokens_per_s": _rate(run, row, phase, "padded_") for phase in PHASES},
        **{column: row.cost.get(column) for column in MORE_COST_COLUMNS},
        "kernels": " ".join(row.cost.get("kernels", [])),
        "deterministic": row.deterministic,
    }


Verdict = Callable[[str, str], int | None]
Standing = Literal["front", "tied", "dominated"]


def pareto(
    names: Sequence[str], first: Verdict, second: Verdict, rivals: Sequence[str]
) -> dict[str, Standing]:
    """Where each row stands; verdicts say 1, 0 or -1 of a pair, or None if unknown.

    rivals: those that each row is compared with.
    """
    standing: dict[str, Standing] = {}
    for name in names:
        standing[name] = "front"
        for other in rivals:
            if other == name or (better := first(other, name)) not in (0, 1):
                continue
            verdicts = (better, second(other, name))
            if verdicts == (1, 1):
                standing[name] = "dominated"
                break
            if verdicts in ((1, 0), (0, 1)):
                standing[name] = "tied"
    return standing


def at_chance(
    line: Mapping[str, Any], metric: MetricDescription, chance: float | None
) -> bool | None:
    """Whether a table's line is no better than chance, over seeds or over other test sets.

    None where there is no chance level or no score, and for a score above chance that has neither
    an interval over seeds nor a sampling error.
    """
    mean, direction = line[f"{metric.name}_mean"], metric.direction
    if chance is None or mean is None:
        return None
    ends = [line[f"{metric.name}_{'low' if direction > 0 else 'high'}"]]
    if (error := line[f"{metric.name}_sampling_error"]) is not None:
        ends.append(mean - direction * error)
    known = [end for end in ends if end is not None]
    if not known and direction * mean > direction * chance:
        return None
    return bool(min(direction * end for end in [mean, *known]) <= direction * chance)
