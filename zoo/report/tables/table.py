"""Records become one row per cell: quality, speed and memory of the same model."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import pandas as pd

from zoo.report.rows import Row, axes_of, make_rows
from zoo.report.stats.intervals import over_seeds, sampling_error
from zoo.report.stats.paired import Comparisons
from zoo.report.stats.pareto import pareto
from zoo.report.stats.ratios import PHASES, Speeds, find_reference, memory_verdict
from zoo.report.tables.notes import made_on, notes
from zoo.report.tables.readable import as_text, metrics_in
from zoo.sweep.records import Record

__all__ = ["as_text", "build_table", "caption", "make_table"]

# Columns that have the names of metrics in records of kind "cost".
COST_COLUMNS = ("train_tokens_per_s", "infer_tokens_per_s", "latency_ms", "peak_memory_mib")
MORE_COST_COLUMNS = (
    "train_padded_tokens_per_s",
    "infer_padded_tokens_per_s",
    "latency_p95_ms",
    "infer_memory_mib",
    "reserved_memory_mib",
    "flops_per_token",
    "matrix_share",
    "compile_seconds",
)


def make_table(records: Sequence[Record], reference: str = "") -> pd.DataFrame:
    """One row per cell, best first, then what failed or was skipped, then baselines.

    A later record of the same row, kind and seed replaces an earlier one. reference: the cell that
    ratios are to; by default the one that the latest cost measurement was made against.
    """
    rows = make_rows(records)
    reference = find_reference(rows, reference)
    return build_table(rows, reference, Speeds(rows, reference))


def build_table(rows: Sequence[Row], reference: str, speeds: Speeds) -> pd.DataFrame:
    """The table of these rows. Columns named after metrics are in the metrics' own units.

    Other columns: ratios, and shares from 0 to 1. A ``tie`` is True, False, or empty if unknown.
    ``attrs["metrics"]`` holds the descriptions of the metrics.
    """
    shown = rows or [Row("", {}, "")]  # of no rows, the columns alone
    axes, metric = axes_of(shown), shown[0].metric
    base = next((row for row in rows if row.name == reference), None)
    standings = _standings(shown, speeds)
    lines = [
        _results(row, axes) | standings[row.name] | _ratios(row, base, reference, speeds)
        for row in shown
    ]
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
    table.attrs["metrics"] = [m.model_dump() for m in shown[0].metrics]
    return table


def _results(row: Row, axes: Sequence[str]) -> dict[str, Any]:
    """What was measured. A baseline's name is in the column of the first axis."""
    cost, metric = row.cost, row.metric
    metrics = [record.metrics for record in row.trained.values()]
    values = over_seeds(list(row.values.values()))
    columns: dict[str, Any] = {axis: row.cell.get(axis, "") for axis in axes}
    if row.baseline:
        columns[axes[0]] = row.baseline
    return columns | {
        "status": row.bad.status if row.bad else "ok",
        "reason": _reason(row.bad),
        "seeds": len(row.trained),
        "params": cost.get("params") or next((m.get("params") for m in metrics), None),
        f"{metric.name}_mean": values.mean if values else None,
        f"{metric.name}_std": values.sd if values else None,
        **{f"{m.name}_mean": _mean(list(row.values_of(m.name).values())) for m in row.metrics[1:]},
        **{column: cost.get(column) for column in COST_COLUMNS},
        "train_seconds": _mean([m["train_seconds"] for m in metrics if "train_seconds" in m]),
    }


def _reason(bad: Record | None) -> str:
    if bad is None or bad.status == "skipped":
        return bad.reason if bad else ""
    return f"{'cost' if bad.kind == 'cost' else f'seed {bad.seed}'}: {bad.reason}"


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _standings(rows: Sequence[Row], speeds: Speeds) -> dict[str, dict[str, Any]]:
    """Row to its rank, ties, intervals and place on the fronts."""
    compared = Comparisons(rows)
    ranks = compared.ranks()
    best_alone = list(ranks.values()).count(1) == 1
    memory: dict[str, Any] = {row.name: row.cost.get("peak_memory_mib") for row in rows}

    def faster(one: str, other: str) -> int | None:
        ratio = speeds.ratio("train", one, other)
        return ratio.verdict if ratio else None

    def smaller(one: str, other: str) -> int | None:
        return memory_verdict(memory[one], memory[other])

    with_speed = [row.name for row in compared.rows if row.name in speeds.measured]
    with_memory = [row.name for row in compared.rows if memory[row.name]]
    speed_front = pareto(with_speed, compared.verdict, faster)
    memory_front = pareto(with_memory, compared.verdict, smaller)
    columns = {}
    for row in rows:
        metric, rank = row.metric, ranks.get(row.name)
        values = over_seeds(list(row.values.values()), metric.lowest, metric.highest)
        columns[row.name] = {
            "rank": rank,
            "tie": None if rank is None else rank == 1 and not best_alone,
            f"{metric.name}_low": values.low if values else None,
            f"{metric.name}_high": values.high if values else None,
            f"{metric.name}_sampling_error": sampling_error(values.mean, row.examples)
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
    return columns | {"kernels": " ".join(row.cost.get("kernels", []))}


def caption(records: Sequence[Record], table: pd.DataFrame | None = None) -> str:
    """What the table says and what it was made on: one line each.

    table: the one made of these records; it is made here if not given.
    """
    if not records:
        return "No records."
    table = make_table(records) if table is None else table
    return "\n".join([*notes(table), made_on(records[-1], metrics_in(table)[0])])
