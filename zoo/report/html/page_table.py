"""The table of the page: what each of its cells shows, sorts by, and draws as an interval."""

from __future__ import annotations

import math
from typing import Any

from zoo.report.run_report import RunReport

_SORTED_BY = {
    "rank": "rank",
    "seeds": "seeds",
    "params": "params",
    "train tok/s": "train_tokens_per_s",
    "infer tok/s": "infer_tokens_per_s",
    "× train": "train_ratio",
    "× infer": "infer_ratio",
    "latency ms": "latency_ms",
    "memory MiB": "peak_memory_mib",
    "train s": "train_seconds",
}
_MORE_IS_BETTER = {"train tok/s", "infer tok/s", "× train", "× infer"}
_RATIOS = {"× train": "train", "× infer": "infer"}
Whisker = tuple[float, float, float]  # low, middle and high, in percent of the column's scale


def heads_of(run: RunReport) -> list[dict[str, Any]]:
    """The columns of the readable table; ``first``: the order in which the first click sorts."""
    metrics = {metric.label: metric for metric in run.metrics}
    heads = []
    for text in map(str, run.shown.columns):
        metric = metrics.get(text)
        more = metric.higher_is_better if metric else text in _MORE_IS_BETTER
        number = text in _SORTED_BY or metric is not None
        first = "descending" if number and more else "ascending"
        heads.append({"text": text, "number": number, "first": first})
    return heads


def lines_of(run: RunReport) -> list[dict[str, Any]]:
    """The rows of the readable table, in its order.

    ``facets``: a row's choices on the axes that vary, which filters use. ``classes``: of CSS.
    """
    whiskers = {head: _whiskers(run, head) for head in (run.metric.label, *_RATIOS)}
    several_best = sum(line["rank"] == 1 for line in run.lines) > 1
    lines = []
    for number, (row, values) in enumerate(zip(run.rows, run.lines, strict=True)):
        shown = run.shown.iloc[number].items()
        ok, best = values["status"] == "ok", several_best and values["rank"] == 1
        marks = {"best": best, "bad": not ok, "reference": row.name == run.reference}
        lines.append(
            {
                "number": number,
                "name": run.short_name(row),
                "cells": [_cell(run, str(head), text, number, whiskers) for head, text in shown],
                "facets": {axis: row.cell[axis] for axis in run.axes if not row.baseline},
                "baseline": bool(row.baseline),
                "ok": ok,
                "best": best,
                "classes": _classes(marks),
            }
        )
    return lines


def _cell(
    run: RunReport, head: str, text: str, number: int, whiskers: dict[str, list[Whisker | None]]
) -> dict[str, Any]:
    """What a cell shows; ``key``: what it sorts by, "" if empty."""
    columns = {**_SORTED_BY, **{m.label: f"{m.name}_mean" for m in run.metrics}}
    values, is_number = run.lines[number], head in columns
    value = values[columns[head]] if is_number else text
    key = "" if value is None else repr(float(value)) if is_number else text
    tie = head in _RATIOS and bool(values[f"{_RATIOS[head]}_tie"])
    marks = {"number": is_number, "tie": tie, "words": not is_number and len(text) > 24}
    whisker = whiskers[head][number] if head in whiskers else None
    return {"text": text, "key": key, "whisker": whisker, "classes": _classes(marks)}


def _classes(marks: dict[str, bool]) -> str:
    return " ".join(mark for mark, there in marks.items() if there)


def _whiskers(run: RunReport, head: str) -> list[Whisker | None]:
    """Intervals on one scale for the whole column, logarithmic for ratios; None without one."""
    name, ratio = f"{run.metric.name}_mean", head in _RATIOS
    if ratio:
        name = f"{_RATIOS[head]}_ratio"
    low, high = (name.removesuffix("_mean") + end for end in ("_low", "_high"))
    found = [(line[low], line[name], line[high]) for line in run.lines]
    scaled = [
        None if None in ends else [math.log(end) if ratio else float(end) for end in ends]
        for ends in found
    ]
    # The scale is that of the cells: a baseline that is far off is drawn at the edge.
    cells = [ends for ends, row in zip(scaled, run.rows, strict=True) if ends and not row.baseline]
    if not cells:
        return [None] * len(found)
    least, most = min(ends[0] for ends in cells), max(ends[2] for ends in cells)
    width = (most - least) or 1.0

    def percent(value: float) -> float:
        return round(min(100.0, max(0.0, 100 * (value - least) / width)), 1)

    return [(percent(e[0]), percent(e[1]), percent(e[2])) if e else None for e in scaled]
