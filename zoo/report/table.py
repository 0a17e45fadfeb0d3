"""Records become one row per cell: accuracy, speed and memory of the same model."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from zoo.harness.records import Record
from zoo.registry import AXES

# The first columns of table.csv, in this order; others may follow.
COLUMNS = (
    *AXES,
    "status",
    "reason",
    "seeds",
    "params",
    "accuracy_mean",
    "accuracy_std",
    "f1_mean",
    "train_tokens_per_s",
    "infer_tokens_per_s",
    "latency_ms",
    "peak_memory_mib",
    "train_seconds",
)
# What a probe says besides, under the names it has in a record.
PROBED = (
    "train_padded_tokens_per_s",
    "infer_padded_tokens_per_s",
    "latency_p95_ms",
    "infer_memory_mib",
    "reserved_memory_mib",
    "flops_per_token",
    "matrix_share",
    "compile_seconds",
)


def make_table(records: Sequence[Record]) -> pd.DataFrame:
    """One row per cell, best accuracy first, then what failed or was skipped, then baselines.

    A later record of the same row, kind and seed stands in for an earlier one.
    """
    latest: dict[tuple[str, str, int | None], Record] = {}
    for record in records:
        latest[record.name, record.kind, record.seed] = record
    rows: dict[str, list[Record]] = {}
    for record in latest.values():
        rows.setdefault(record.name, []).append(record)
    table = pd.DataFrame([_row(name, group) for name, group in rows.items()])
    if table.empty:
        return pd.DataFrame(columns=[*COLUMNS, "baseline", *PROBED, "kernels"])
    order = pd.DataFrame(
        {
            "last": table["baseline"] != "",
            "status": table["status"] != "ok",
            "accuracy": -table["accuracy_mean"].astype(float),
        }
    )
    best = order.sort_values(["last", "status", "accuracy"], kind="stable", na_position="last")
    sorted_table: pd.DataFrame = table.loc[best.index].reset_index(drop=True)
    return sorted_table


def _row(name: str, group: list[Record]) -> dict[str, Any]:
    trials = [r for r in group if r.kind == "trial"]
    good = [r for r in trials if r.status == "ok"]
    probe = next((r for r in group if r.kind == "probe"), None)
    bad = next((r for r in [*trials, *([probe] if probe else [])] if r.status != "ok"), None)
    first = group[0]
    accuracies = [r.metrics["accuracy"] for r in good]
    cost = probe.metrics if probe is not None and probe.status == "ok" else {}
    params = cost.get("params") or next((r.metrics.get("params") for r in good), None)
    row: dict[str, Any] = {axis: first.cell.get(axis, "") for axis in AXES}
    if first.baseline:
        row["attention"] = first.baseline
    row |= {
        "status": "ok" if bad is None else bad.status,
        "reason": _reason(bad),
        "seeds": len(good),
        "params": params,
        "accuracy_mean": _mean(accuracies),
        "accuracy_std": statistics.stdev(accuracies) if len(accuracies) > 1 else None,
        "f1_mean": _mean([r.metrics["f1"] for r in good]),
        "train_tokens_per_s": cost.get("train_tokens_per_s"),
        "infer_tokens_per_s": cost.get("infer_tokens_per_s"),
        "latency_ms": cost.get("latency_ms"),
        "peak_memory_mib": cost.get("peak_memory_mib"),
        "train_seconds": _mean([r.metrics["train_seconds"] for r in good]),
        "baseline": first.baseline,
    }
    row |= {column: cost.get(column) for column in PROBED}
    row["kernels"] = " ".join(cost.get("kernels", []))
    return row


def _reason(bad: Record | None) -> str:
    if bad is None or bad.status == "skipped":
        return bad.reason if bad else ""
    where = "probe" if bad.kind == "probe" else f"seed {bad.seed}"
    return f"{where}: {bad.reason}"


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table as a person reads it: the axes that differ, rounded numbers, units in the heads."""
    cells = table[table["baseline"] == ""]
    axes = [axis for axis in AXES if cells[axis].nunique() > 1] or ["attention", "pe"]
    if "attention" not in axes:
        axes.insert(0, "attention")
    shown = table[axes].copy()
    if (table["status"] != "ok").any():
        shown["status"] = [
            status if status == "ok" else f"{status}: {reason}"
            for status, reason in zip(table["status"], table["reason"], strict=True)
        ]
    if table["accuracy_mean"].notna().any():
        shown["accuracy"] = [
            _accuracy(mean, std)
            for mean, std in zip(table["accuracy_mean"], table["accuracy_std"], strict=True)
        ]
        shown["macro F1"] = [_number(v, "{:.3f}") for v in table["f1_mean"]]
        shown["seeds"] = [str(n) for n in table["seeds"]]
    shown["params"] = [_number(v, "{:,.0f}") for v in table["params"]]
    for head, column, form in (
        ("train tok/s", "train_tokens_per_s", "{:,.0f}"),
        ("infer tok/s", "infer_tokens_per_s", "{:,.0f}"),
        ("latency ms", "latency_ms", "{:.2f}"),
        ("memory MiB", "peak_memory_mib", "{:,.0f}"),
        ("train s", "train_seconds", "{:.1f}"),
    ):
        if table[column].notna().any():
            shown[head] = [_number(value, form) for value in table[column]]
    return shown


def _accuracy(mean: float | None, std: float | None) -> str:
    if mean is None or pd.isna(mean):
        return ""
    return f"{mean:.3f}" if std is None or pd.isna(std) else f"{mean:.3f} ± {std:.3f}"


def _number(value: Any, form: str) -> str:
    return "" if value is None or pd.isna(value) else form.format(value)


def as_text(table: pd.DataFrame, style: str = "simple") -> str:
    """The readable table, laid out by tabulate."""
    from tabulate import tabulate

    shown = readable(table)
    numbers, units = {"accuracy", "macro F1", "seeds", "params"}, ("/s", " ms", " MiB", " s")
    heads = [str(head) for head in shown.columns]
    align = ["right" if h in numbers or h.endswith(units) else "left" for h in heads]
    return str(
        tabulate(
            shown.values.tolist(),
            headers=heads,
            tablefmt=style,
            colalign=align if len(shown) else None,
            disable_numparse=True,
        )
    )


def caption(records: Sequence[Record]) -> str:
    """What the table was made on: data and its fingerprint, sizes, machine."""
    if not records:
        return "No records."
    config, machine = records[-1].config, records[-1].environment
    data, sizes, training = config["data"], config["sizes"], config["training"]
    return (
        f"Data: {data['name']} ({data['fingerprint'][:12]}), {data['train']} training and "
        f"{data['test']} test documents, {data['duplicates']} in both"
        f"{'' if data['duplicates_kept'] or not data['duplicates'] else ' (dropped from training)'}"
        f". Model: {sizes['layers']} layers, width {sizes['dim']}, {sizes['heads']} heads, "
        f"{sizes['max_length']} tokens; {training['epochs']} epochs. "
        f"Machine: {machine.get('device_name')}, {machine.get('threads')} threads, "
        f"torch {machine.get('torch')}, {machine.get('precision')}."
    )


def write_tables(records: Sequence[Record], directory: Path) -> None:
    """``table.csv`` with every column and ``table.md`` as a person reads it."""
    table = make_table(records)
    for name, text in (
        ("table.csv", table.to_csv(index=False)),
        ("table.md", f"{as_text(table, 'github')}\n\n{caption(records)}\n"),
    ):
        unfinished = directory / f".{name}.tmp"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(directory / name)
