"""Records become one row per cell: accuracy, speed and memory of the same model."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from zoo.errors import ZooError
from zoo.registry import AXES
from zoo.report.stats.intervals import over_seeds, sampling_error
from zoo.report.stats.paired import Comparisons
from zoo.report.stats.pareto import pareto
from zoo.report.stats.ratios import PHASES, Speeds, memory_verdict
from zoo.report.tables.columns import COLUMNS, PROBED, judged_columns
from zoo.report.tables.layout import as_text, notes
from zoo.report.tables.markdown import line
from zoo.report.tables.rows import Row, make_rows
from zoo.sweep.records import Record
from zoo.tasks.score import CLASSIFY, scores_of

__all__ = ["COLUMNS", "as_text", "caption", "find_reference", "make_table", "write_tables"]


def make_table(records: Sequence[Record], reference: str = "") -> pd.DataFrame:
    """One row per cell, best score first, then what failed or was skipped, then baselines.

    A later record of the same row, kind and seed stands in for an earlier one. reference: the
    cell that ratios are to, by default the one that the latest probe was measured beside.
    """
    rows = make_rows(records)
    if not rows:
        judged_names = judged_columns(scores_of(CLASSIFY)[0])
        return pd.DataFrame(columns=[*COLUMNS, *judged_names, "baseline", *PROBED, "kernels"])
    reference = find_reference(rows, reference)
    speeds = Speeds(rows, reference)
    judged = _judged(rows, speeds)
    table = pd.DataFrame(
        [
            _measured(row) | judged[row.name] | _ratios(row, rows, speeds, reference) | _rest(row)
            for row in rows
        ]
    )
    table["rank"] = table["rank"].astype("Int64")
    order = pd.DataFrame(
        {
            "last": table["baseline"] != "",
            "status": table["status"] != "ok",
            "score": -rows[0].score.direction * table[f"{rows[0].score.name}_mean"].astype(float),
            "speed": -table["train_tokens_per_s"].astype(float),
        }
    )
    best = order.sort_values(list(order.columns), kind="stable", na_position="last")
    return table.loc[best.index].reset_index(drop=True)


def find_reference(rows: Sequence[Row], wanted: str = "") -> str:
    """The cell that ratios are to: by name, or by some of its choices, as ``fused+sin``.

    By default the one that the latest probe was measured beside, or, without probes, the first
    cell that was trained; empty where there is none.
    """
    cells = [row for row in rows if not row.baseline and (row.trials or row.probes)]
    if not wanted:
        return Speeds(rows).base or next((row.name for row in cells), "")
    parts = {part.strip() for part in wanted.split("+")}
    for row in cells:
        if row.name == wanted or parts <= set(row.cell.values()):
            return row.name
    raise ZooError(
        f"--reference {wanted}: no such cell here. There is: {', '.join(row.name for row in cells)}"
    )


def _measured(row: Row) -> dict[str, Any]:
    """The columns that were there from the first, in their order."""
    cost = _cost(row)
    metrics = [record.metrics for record in row.trials.values()]
    score, values = row.score, over_seeds(list(row.values.values()))
    columns: dict[str, Any] = {axis: row.cell.get(axis, "") for axis in AXES}
    if row.baseline:
        columns["attention"] = row.baseline
    return columns | {
        "status": row.bad.status if row.bad else "ok",
        "reason": _reason(row.bad),
        "seeds": len(row.trials),
        "params": cost.get("params") or next((m.get("params") for m in metrics), None),
        f"{score.name}_mean": values.mean if values else None,
        f"{score.name}_std": values.sd if values else None,
        **{f"{other.name}_mean": _mean(list(row.of(other).values())) for other in row.scores[1:]},
        "train_tokens_per_s": cost.get("train_tokens_per_s"),
        "infer_tokens_per_s": cost.get("infer_tokens_per_s"),
        "latency_ms": cost.get("latency_ms"),
        "peak_memory_mib": cost.get("peak_memory_mib"),
        "train_seconds": _mean([m["train_seconds"] for m in metrics if "train_seconds" in m]),
    }


def _judged(rows: Sequence[Row], speeds: Speeds) -> dict[str, dict[str, Any]]:
    """Ranks, ties, intervals and fronts of every row."""
    compared = Comparisons(rows)
    ranks = compared.ranks()
    best_alone = list(ranks.values()).count(1) == 1
    memory = {row.name: _cost(row).get("peak_memory_mib") for row in rows}

    def faster(one: str, other: str) -> int | None:
        ratio = speeds.ratio("train", one, other)
        return ratio.verdict if ratio else None

    def smaller(one: str, other: str) -> int | None:
        mine, theirs = memory[one], memory[other]
        return memory_verdict(mine, theirs) if mine and theirs else None

    fast = [row.name for row in compared.rows if row.name in speeds.measured]
    small = [row.name for row in compared.rows if memory[row.name]]
    front = pareto(fast, compared.verdict, faster)
    light = pareto(small, compared.verdict, smaller)
    columns = {}
    for row in rows:
        score, rank = row.score, ranks.get(row.name)
        values = over_seeds(list(row.values.values()), score.lowest, score.highest)
        columns[row.name] = {
            "rank": rank,
            "tie": None if rank is None else rank == 1 and not best_alone,
            f"{score.name}_low": values.low if values else None,
            f"{score.name}_high": values.high if values else None,
            f"{score.name}_sampling_error": sampling_error(values.mean, row.documents)
            if values
            else None,
            "test_documents": row.documents or None,
            "pareto_speed": front.get(row.name, ""),
            "pareto_memory": light.get(row.name, ""),
        }
    return columns


def _ratios(row: Row, rows: Sequence[Row], speeds: Speeds, reference: str) -> dict[str, Any]:
    """Speed and memory over the reference's."""
    columns: dict[str, Any] = {"reference": reference}
    probe, measured = row.probe, row.name in speeds.measured
    columns["rounds"] = len(probe.samples["rounds"]) if measured and probe else None
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
    mine = _cost(row).get("peak_memory_mib")
    other = next((_cost(r).get("peak_memory_mib") for r in rows if r.name == reference), None)
    columns["memory_ratio"] = mine / other if mine and other else None
    return columns


def _rest(row: Row) -> dict[str, Any]:
    cost = _cost(row)
    columns: dict[str, Any] = {"baseline": row.baseline}
    columns |= {column: cost.get(column) for column in PROBED}
    return columns | {"kernels": " ".join(cost.get("kernels", []))}


def _cost(row: Row) -> dict[str, Any]:
    return row.probe.metrics if row.probe is not None and row.probe.status == "ok" else {}


def _reason(bad: Record | None) -> str:
    if bad is None or bad.status == "skipped":
        return bad.reason if bad else ""
    where = "probe" if bad.kind == "probe" else f"seed {bad.seed}"
    return f"{where}: {bad.reason}"


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def caption(records: Sequence[Record], table: pd.DataFrame | None = None) -> str:
    """What the table says and on what it was made: a line each."""
    if not records:
        return "No records."
    config, machine = records[-1].config, records[-1].environment
    data, sizes, training = config["data"], config["sizes"], config["training"]
    scored = scores_of(config.get("task", CLASSIFY))[0].of
    several = sizes["members"]
    made_on = (
        f"Data: {data['name']} ({data['fingerprint'][:12]}), {data.get('told') or _counted(data)}"
        f"{_held_out(training, scored)}. "
        f"Model: {_many(sizes['layers'], 'layer')}, width {sizes['dim']}, "
        f"{_many(sizes['heads'], 'head')}, {sizes['max_length']} tokens"
        f"{f', {several} members of each cell' if several > 1 else ''}; "
        f"{_many(training['epochs'], 'epoch')}"
        f"{f', {beam} beams' if (beam := config.get('beam')) else ''}. "
        f"Machine: {machine.get('device_name')}, {_many(machine.get('threads'), 'thread')}, "
        f"torch {machine.get('torch')}, {machine.get('precision')}."
    )
    lines = notes(make_table(records) if table is None else table)
    return "\n".join([*lines, made_on])


def _held_out(training: dict[str, Any], of: str) -> str:
    """Which part was scored, where it is not the test split."""
    share = training.get("validation", 0.0)
    return f"; scored on {share:.0%} of the training {of}, held out from it" if share else ""


def _many(count: Any, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _counted(data: dict[str, Any]) -> str:
    dropped = data["duplicates"] and not data["duplicates_kept"]
    return (
        f"{data['train']} training and {data['test']} test documents, {data['duplicates']} in both"
        f"{' (dropped from training)' if dropped else ''}"
    )


def write_tables(records: Sequence[Record], directory: Path, reference: str = "") -> pd.DataFrame:
    """Write ``table.csv`` with every column and ``table.md`` as a person reads it; return it."""
    table = make_table(records, reference)
    lines = "\n".join(f"- {line(note)}" for note in caption(records, table).splitlines())
    for name, text in (
        ("table.csv", table.to_csv(index=False)),
        ("table.md", f"{as_text(table, 'github')}\n\n{lines}\n"),
    ):
        unfinished = directory / f".{name}.tmp"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(directory / name)
    return table
