"""What the page shows, as plain values: the table, the details of a chosen row, failures.

Each cell of the table has what it shows, what it sorts by, and an interval to draw.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.report.rows import Row, class_scores, confusions_of, labels_of
from zoo.report.run_report import RunReport
from zoo.report.tables.text import counted, plain
from zoo.sweep.records import Record

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
    lines = []
    for number, (row, values) in enumerate(zip(run.rows, run.lines, strict=True)):
        shown = run.shown.iloc[number].items()
        ok, best = values["status"] == "ok", bool(values["tie"])
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


WHOLE = 25  # classes up to which the whole confusion matrix is shown
PAIRS = 40  # with more classes, this many of the largest confusions


def details_of(run: RunReport) -> dict[str, Any]:
    """The data of the page's script: of every row in the order of the table, plain values."""
    labels = next((found for row in run.rows if (found := labels_of(row))), [])
    return {
        "labels": [plain(label) for label in labels],
        "metric": plain(run.metric.label),
        "rows": [_details(run, number, row) for number, row in enumerate(run.rows)],
    }


def _details(run: RunReport, number: int, row: Row) -> dict[str, Any]:
    details: dict[str, Any] = {
        "name": plain(row.name),
        "summary": run.describe(number),
        "seeds": [[str(seed), run.metric.format(value)] for seed, value in row.values.items()],
        "command": row_command(row),
        "kernels": [plain(kernel) for kernel in row.cost.get("kernels") or []],
    }
    confusions = confusions_of(row)
    if confusions is not None:
        total = confusions.sum(axis=0)
        details["classes"] = class_scores(confusions).mean(axis=0).round(4).tolist()
        details["examples"] = total.sum(axis=1).tolist()
        details["confusions"] = _confusions(total)
        details["cut"] = len(total) > WHOLE
    return details


def _confusions(total: NDArray[np.int_]) -> list[list[int]]:
    """True class, predicted class and count; with very many classes, the largest confusions."""
    if len(total) <= WHOLE:
        return [[int(i), int(j), int(total[i, j])] for i, j in np.argwhere(total)]
    confused = total - np.diag(np.diagonal(total))
    largest = np.argsort(-confused, axis=None, kind="stable")[:PAIRS]
    pairs = [divmod(int(place), len(total)) for place in largest]
    return [[i, j, int(confused[i, j])] for i, j in pairs if confused[i, j]]


def row_command(row: Row) -> str:
    """The command that repeats the training of all of a row's seeds; "" if no record has one."""
    commands = {seed: r.command for seed, r in row.trained.items() if r.command}
    if not commands:
        records: Sequence[Record] = [*row.failed, *row.cost_records]
        return plain(next((record.command for record in records if record.command), ""))
    first = next(iter(commands.values()))
    try:
        words = shlex.split(first)
    except ValueError:
        return plain(first)  # not written by us
    seeds = sorted(commands)
    if "--seed" in words:
        place = words.index("--seed")
        all_seeds = ["--seeds", str(len(seeds))] if seeds == list(range(len(seeds))) else []
        words[place : place + 2] = all_seeds or [w for s in seeds for w in ("--seed", str(s))]
    return plain(shlex.join(words))


def failures_of(run: RunReport) -> list[dict[str, str]]:
    """What failed or was skipped: the row, what of it, status and reason."""
    found = []
    for row in run.rows:
        cost = [row.cost_record] if row.cost_record and row.cost_record.status != "ok" else []
        bad = [*row.failed, *cost]
        for kind, status, reason in dict.fromkeys((r.kind, r.status, r.reason) for r in bad):
            same = [r for r in bad if (r.kind, r.status, r.reason) == (kind, status, reason)]
            seeds = ", ".join(str(r.seed) for r in same if r.seed is not None)
            what = "cost" if kind == "cost" else f"seed {seeds}" if seeds else ""
            name = run.short_name(row)
            found.append({"row": name, "what": what, "status": status, "reason": reason})
    return found


_KINDS = {"train": "training", "cost": "cost measurement"}


def environments_of(run: RunReport) -> list[dict[str, Any]]:
    """The distinct environments of the records that ran, each with how many ran in it."""
    counts: dict[tuple[tuple[str, str], ...], Counter[str]] = {}
    for record in run.records:
        if record.environment and record.status != "skipped":
            values = tuple(_flat(record.environment | {"plug-ins": record.plugins}))
            counts.setdefault(values, Counter())[_KINDS[record.kind]] += 1
    return [
        {
            "title": " and ".join(counted(n, kind) for kind, n in kinds.items()),
            "values": [(key, value) for key, value in values if value],
        }
        for values, kinds in counts.items()
    ]


def _flat(values: dict[str, Any], before: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, dict):
            found += _flat(value, f"{before}{key} ")
        else:
            text = ("yes" if value else "no") if isinstance(value, bool) else value
            found.append((plain(f"{before}{key}"), "" if text is None else plain(text)))
    return found
