"""The table as a person reads it: rounded numbers, units in the heads, ties shown as ties."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from zoo.config.metric_description import MetricDescription
from zoo.report.stats.intervals import Interval
from zoo.report.stats.ratios import PHASES
from zoo.report.tables.text import plain, tabulated

REASON = 90  # characters of a status with its reason; all of it is in table.csv
_FRONTS = {"front": "{}", "tied": "({})"}


def axes_in(table: pd.DataFrame) -> list[str]:
    """The axes of a table's cells: its columns before ``status``."""
    return list(table.columns[: table.columns.get_loc("status")])


def metrics_in(table: pd.DataFrame) -> tuple[MetricDescription, ...]:
    """The metrics of the task that a table is of; the first one ranks rows."""
    return tuple(MetricDescription(**metric) for metric in table.attrs["metrics"])


def as_text(table: pd.DataFrame, style: str = "simple") -> str:
    """The readable table laid out by tabulate, each row on one line, in a style of tabulate's."""
    return aligned(table, readable(table), style)


def aligned(table: pd.DataFrame, shown: pd.DataFrame, style: str = "simple") -> str:
    """Columns of the readable table of ``table``, numbers to the right."""
    heads = readable_cells(table).attrs["heads"]
    left = {f"{metrics_in(table)[0].name}_mean", *(f"{phase}_ratio" for phase in PHASES)}
    numbers = {heads.get(key) for key in {*numbers_in(table)} - left - {*table.attrs["tuned"]}}
    align = ["right" if head in numbers else "left" for head in shown.columns]
    return tabulated(shown.values.tolist(), [str(head) for head in shown.columns], style, align)


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """``readable_cells`` with the heads that are printed above its columns; heads may be equal."""
    shown = readable_cells(table)
    return shown.set_axis(list(shown.attrs["heads"].values()), axis=1)


def numbers_in(table: pd.DataFrame) -> dict[str, bool]:
    """The columns of numbers, by their key in ``readable_cells``, and whether more is better."""
    metrics = metrics_in(table)
    less = ["rank", "seeds", "params", "latency_ms", "peak_memory_mib"]
    less += ["train_seconds", "pretrain_seconds"]
    less += [*(f"{name}_loss" for name in table.attrs["auxiliary"]), *table.attrs["tuned"]]
    speeds = [f"{phase}_{what}" for phase in PHASES for what in ("tokens_per_s", "ratio")]
    by_metric = {f"{metric.name}_mean": metric.higher_is_better for metric in metrics}
    return by_metric | dict.fromkeys(less, False) | dict.fromkeys(speeds, True)


def readable_cells(table: pd.DataFrame) -> pd.DataFrame:
    """All values as text; only the axes that differ, and no column without a value.

    Columns have the names of the table's columns that they show, and ``front`` is of both fronts.
    ``attrs["heads"]``: name of a column to the head that is printed above it.
    """
    known, cells = axes_in(table), table[table["baseline"] == ""]
    # The first axis is always there: its column has the names of baselines.
    axes = [axis for axis in known if axis == known[0] or cells[axis].nunique() > 1]
    if not any(cells[axis].nunique() > 1 for axis in axes):
        axes = known[:2]
    shown = table[axes].copy()
    if (table["status"] != "ok").any():
        shown["status"] = [
            status if status == "ok" else plain(f"{status}: {reason}", REASON)
            for status, reason in zip(table["status"], table["reason"], strict=True)
        ]
    metric, *others = metrics_in(table)
    lines = [line for _, line in table.iterrows()]
    scored = bool(table[f"{metric.name}_mean"].notna().any())
    columns: dict[str, tuple[str, list[str]]] = {  # key to head and values
        "rank": ("rank", _ranks(table["rank"])),
        f"{metric.name}_mean": (metric.label, [_value(row, metric) for row in lines]),
    }

    def add(key: str, head: str, form: str) -> None:
        columns[key] = head, _numbers(table[key], form)

    for other in others:
        add(f"{other.name}_mean", other.label, f"{{:.{other.digits}f}}")
    for name in table.attrs["auxiliary"]:
        add(f"{name}_loss", f"{name} loss", "{:.4g}")
    for name in table.attrs["tuned"]:
        add(name, name.replace("_", " "), "{:g}")
    seeds = [str(row["seeds"]) if scored and not row["deterministic"] else "" for row in lines]
    columns["seeds"] = "seeds", seeds
    add("params", "params", "{:,.0f}")
    for phase in PHASES:
        add(f"{phase}_tokens_per_s", f"{phase} tok/s", "{:,.0f}")
        columns[f"{phase}_ratio"] = f"× {phase}", [_ratio(row, phase, known) for row in lines]
    add("latency_ms", "latency ms", "{:.2f}")
    add("peak_memory_mib", "memory MiB", "{:,.0f}")
    if "held_memory_mib" in table:
        add("held_memory_mib", "held MiB", "{:,.0f}")
    add("train_seconds", "train s", "{:.1f}")
    if "pretrain_seconds" in table:
        add("pretrain_seconds", "pretrain s", "{:.1f}")
    columns["front"] = "front", [_fronts(row) for row in lines]
    heads = {key: key for key in shown}
    for key, (head, values) in columns.items():
        if key == "params" or any(values):
            shown[key], heads[key] = values, head
    shown.attrs["heads"] = heads
    return shown


def has_front(table: pd.DataFrame) -> bool:
    """Whether any row has a place on a front."""
    return bool((table[["pareto_speed", "pareto_memory"]] != "").any(axis=None))


def _ranks(ranks: pd.Series) -> list[str]:
    counts = ranks.value_counts()
    return [
        "" if pd.isna(rank) else f"{rank:.0f}{'=' if counts[rank] > 1 else ''}" for rank in ranks
    ]


def _value(row: pd.Series, metric: MetricDescription) -> str:
    mean, low, high = (row[f"{metric.name}_{part}"] for part in ("mean", "low", "high"))
    if pd.isna(mean):
        return ""
    if pd.isna(low) or pd.isna(high):
        return f"{metric.format(mean)}{' (deterministic fit)' if row['deterministic'] else ''}"
    return Interval(mean, max(mean - low, high - mean), ends=(low, high)).text(
        f"{{:.{metric.digits}f}}"
    )


def _ratio(row: pd.Series, phase: str, axes: list[str]) -> str:
    value, low, high = (row[f"{phase}_ratio{end}"] for end in ("", "_low", "_high"))
    if pd.isna(value):
        return ""
    if pd.isna(low):
        name = row["baseline"] or "+".join(row[axis] for axis in axes)
        return "reference" if name == row["reference"] else f"{value:.2f}"
    return f"{'tie' if row[f'{phase}_tie'] else f'{value:.2f}'} ({low:.2f} to {high:.2f})"


def _fronts(row: pd.Series) -> str:
    return " ".join(
        _FRONTS[row[f"pareto_{cost}"]].format(cost)
        for cost in ("speed", "memory")
        if row[f"pareto_{cost}"] in _FRONTS
    )


def _numbers(values: pd.Series, form: str) -> list[str]:
    return ["" if value is None or pd.isna(value) else form.format(value) for value in values]


def as_latex(table: pd.DataFrame, notes: Sequence[str]) -> str:
    """A ``tabular`` to ``\\input`` into a float of one's own, after the notes as comments.

    It needs ``\\usepackage{booktabs}`` and an engine that reads UTF-8.
    """
    body = as_text(table, "latex_booktabs")
    # After \\ a bracket or a star would be an argument of the line break.
    body = re.sub(r"(?m)^(\s*)(?=[\[*])", r"\1{}", body)
    comments = [f"% {plain(note)}" for note in notes]
    return "\n".join([r"% needs \usepackage{booktabs}", *comments, body, ""])
