"""Records become one row per cell: quality, speed and memory of the same model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import pandas as pd

from zoo.report.rows import Row, axes_of, trained_on_one_kind_of_machine
from zoo.report.stats.intervals import Interval, over_seeds, sampling_error
from zoo.report.stats.ratios import PHASES, Speeds, memory_verdict
from zoo.report.stats.scores import row_intervals
from zoo.report.stats.verdicts import Verdicts
from zoo.report.tables.models_note import model_of

# Columns that have the names of metrics in records of kind "cost".
COST_COLUMNS = ("train_tokens_per_s", "infer_tokens_per_s", "latency_ms", "peak_memory_mib")
NOT_TRAINED = "not trained"  # the status of a row that has tuning trials alone
MORE_COST_COLUMNS = (
    "train_padded_tokens_per_s",
    "infer_padded_tokens_per_s",
    "latency_p95_ms",
    "held_memory_mib",
    "infer_memory_mib",
    "reserved_memory_mib",
    "flops_per_token",
    "matrix_share",
    "compile_seconds",
)


def build_table(rows: Sequence[Row], reference: str, verdicts: Verdicts) -> pd.DataFrame:
    """The table of these rows. Columns named after metrics are in the metrics' own units.

    Other columns: ratios, and shares from 0 to 1. A ``tie`` is True, False, or empty if unknown.
    ``tie``: whether a row cannot be distinguished from the best cell, which is not alone.
    ``attrs["metrics"]`` holds the descriptions of the metrics, ``attrs["tuned"]`` the names of the
    settings that were chosen for each row, ``attrs["auxiliary"]`` those of the auxiliary losses
    that parts of the models add to the task's, each in a column ``NAME_loss``.
    """
    shown = rows or [Row("", {}, "")]  # of no rows, the columns alone
    axes, metric = axes_of(shown), shown[0].metric
    base = next((row for row in rows if row.name == reference), None)
    speeds = Speeds(rows, reference)
    standings = _standings(shown, speeds, verdicts)
    auxiliary = list(dict.fromkeys(name for row in shown for name in row.auxiliary))
    lines = [
        _results(row, axes, auxiliary) | standings[row.name] | _ratios(row, base, reference, speeds)
        for row in shown
    ]
    if not any(line["model"] for line in lines):  # most runs keep none
        for line in lines:
            del line["model"]
    if not trained_on_one_kind_of_machine(shown):
        for line in lines:
            line["train_seconds"] = None
            line["pretrain_seconds"] = None
    # No row was pretrained; no measurement had it.
    for name in ("pretrain_seconds", "held_memory_mib"):
        if not any(line[name] for line in lines):
            for line in lines:
                del line[name]
    table = pd.DataFrame(lines).iloc[: len(rows)]
    table["rank"] = table["rank"].astype("Int64")
    order = pd.DataFrame(
        {
            "last": table["baseline"] != "",
            "status": table["status"] != "ok",
            "score": -metric.direction * table[f"{metric.name}_mean"].astype(float),
            "speed": -table["train_tokens_per_s"].astype(float),
        }
    )
    best = order.sort_values(list(order.columns), kind="stable", na_position="last")
    table = table.loc[best.index].reset_index(drop=True)
    table.attrs["tuned"] = list(dict.fromkeys(name for row in shown for name in row.chosen))
    table.attrs["auxiliary"] = auxiliary
    table.attrs["metrics"] = [m.model_dump() for m in shown[0].metrics]
    return table


def _results(row: Row, axes: Sequence[str], auxiliary: Sequence[str]) -> dict[str, Any]:
    """What was measured. A baseline's name is in the column of the first axis."""
    cost, metric = row.cost, row.metric
    metrics = [record.metrics for record in row.trained.values()]
    means = {m.name: over_seeds(list(row.values_of(m.name).values())) for m in row.metrics}
    ranked, others = means[metric.name], {m.name: means[m.name] for m in row.metrics[1:]}
    seconds, before = (
        over_seeds([m[name] for m in metrics if name in m])
        for name in ("train_seconds", "pretrain_seconds")
    )
    bad, reason = row.bad, row.bad.reason if row.bad else ""
    if bad is not None and bad.status != "skipped":
        reason = f"{'cost' if bad.kind == 'cost' else f'seed {bad.seed}'}: {reason}"
    status: str = bad.status if bad else "ok"
    if row.only_tuned:
        status, reason = NOT_TRAINED, "; ".join(filter(None, [row.tried, reason]))
    columns: dict[str, Any] = {axis: row.cell.get(axis, "") for axis in axes}
    if row.baseline:
        columns[axes[0]] = row.baseline
    return columns | {
        "status": status,
        "reason": reason,
        "seeds": len({record.seed for record in row.trained.values()}),
        "params": cost.get("params") or next((m.get("params") for m in metrics), None),
        f"{metric.name}_mean": ranked.mean if ranked else None,
        f"{metric.name}_std": ranked.sd if ranked else None,
        **{f"{name}_mean": found.mean if found else None for name, found in others.items()},
        **{f"{name}_loss": row.auxiliary.get(name) for name in auxiliary},
        **row.chosen,
        **{column: cost.get(column) for column in COST_COLUMNS},
        "train_seconds": seconds.mean if seconds else None,
        "pretrain_seconds": before.mean if before else None,
    }


def _standings(
    rows: Sequence[Row], speeds: Speeds, verdicts: Verdicts
) -> dict[str, dict[str, Any]]:
    """Row to its rank, ties, intervals and place on the fronts."""
    ranks, tied = verdicts.ranks(), verdicts.tied()
    intervals: dict[str, Interval | None] = {}
    if verdicts.scores:
        names = [row.name for row in verdicts.known]
        intervals = dict(zip(names, row_intervals(verdicts.scores), strict=True))
    memory: dict[str, Any] = {row.name: row.cost.get("peak_memory_mib") for row in rows}

    def faster(one: str, other: str) -> int | None:
        ratio = speeds.ratio("train", one, other)
        return ratio.verdict if ratio else None

    cells = [row.name for row in verdicts.rows if not row.baseline]
    with_speed = [name for name in cells if name in speeds.measured]
    with_memory = [name for name in cells if memory[name]]
    speed_front = pareto(with_speed, verdicts.verdict, faster)
    memory_front = pareto(
        with_memory, verdicts.verdict, lambda a, b: memory_verdict(memory[a], memory[b])
    )
    columns = {}
    for row in rows:
        metric, rank = row.metric, ranks.get(row.name)
        values = intervals.get(row.name)
        low, high = (values.low, values.high) if values else (None, None)
        if low is not None and metric.lowest is not None:
            low = max(low, metric.lowest)  # no true value is lower
        if high is not None and metric.highest is not None:
            high = min(high, metric.highest)
        columns[row.name] = {
            "rank": rank,
            "tie": None if rank is None else len(tied) > 1 and row.name in tied,
            f"{metric.name}_low": low,
            f"{metric.name}_high": high,
            f"{metric.name}_sampling_error": sampling_error(values.mean, row.effective_examples)
            if values
            else None,
            "test_examples": row.examples or None,
            "pareto_speed": speed_front.get(row.name, ""),
            "pareto_memory": memory_front.get(row.name, ""),
        }
    return columns


def _ratios(row: Row, base: Row | None, reference: str, speeds: Speeds) -> dict[str, Any]:
    """Speed and memory relative to the reference; everything else a cost measurement found."""
    columns: dict[str, Any] = {"reference": reference}
    measured = row.name in speeds.measured
    record = row.cost_record
    columns["rounds"] = len(record.samples["rounds"]) if measured and record else None
    for phase in PHASES:
        ratio = speeds.ratio(phase, row.name, reference) if measured else None
        verdict = ratio.verdict if ratio else None
        itself = measured and row.name == reference
        columns |= {
            f"{phase}_ratio": ratio.value if ratio else 1.0 if itself else None,
            f"{phase}_ratio_low": ratio.low if ratio else None,
            f"{phase}_ratio_high": ratio.high if ratio else None,
            f"{phase}_tie": None if verdict is None else verdict == 0,
        }
    columns["noise_floor"] = speeds.floor("train", [row.name])
    columns["infer_noise_floor"] = speeds.floor("infer", [row.name])
    own = row.cost.get("peak_memory_mib")
    other = base.cost.get("peak_memory_mib") if base else None
    columns["memory_ratio"] = own / other if own and other else None
    columns["baseline"] = row.baseline
    columns |= {column: row.cost.get(column) for column in MORE_COST_COLUMNS}
    return columns | {
        "kernels": " ".join(row.cost.get("kernels", [])),
        "deterministic": row.deterministic,
        "model": model_of(row),
    }


Verdict = Callable[[str, str], int | None]
Standing = Literal["front", "tied", "dominated"]


def pareto(names: Sequence[str], first: Verdict, second: Verdict) -> dict[str, Standing]:
    """Where each row stands; verdicts say 1, 0 or -1 of a pair, or None if unknown."""
    standing: dict[str, Standing] = {}
    for name in names:
        standing[name] = "front"
        for other in names:
            if other == name or (better := first(other, name)) not in (0, 1):
                continue
            verdicts = (better, second(other, name))
            if verdicts == (1, 1):
                standing[name] = "dominated"
                break
            if verdicts in ((1, 0), (0, 1)):
                standing[name] = "tied"
    return standing
