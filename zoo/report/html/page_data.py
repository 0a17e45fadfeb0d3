"""What the page shows, as plain values: the table, the details of a chosen row, failures.

Each cell of the table has what it shows, what it sorts by, and an interval to draw.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.report.rows import Row, class_scores, confusions_of, labels_of
from zoo.report.run_report import RunReport
from zoo.report.tables.table import NOT_TRAINED
from zoo.report.tables.text import counted, plain
from zoo.sweep.records import Record

# Columns of numbers: head to the table's column, and whether more is better.
_NUMBERS = {
    "rank": ("rank", False),
    "seeds": ("seeds", False),
    "params": ("params", False),
    "train tok/s": ("train_tokens_per_s", True),
    "infer tok/s": ("infer_tokens_per_s", True),
    "× train": ("train_ratio", True),
    "× infer": ("infer_ratio", True),
    "latency ms": ("latency_ms", False),
    "memory MiB": ("peak_memory_mib", False),
    "train s": ("train_seconds", False),
    "pretrain s": ("pretrain_seconds", False),
}


def _numbers(run: RunReport) -> dict[str, tuple[str, bool]]:
    return _NUMBERS | {m.label: (f"{m.name}_mean", m.higher_is_better) for m in run.metrics}


def heads_of(run: RunReport) -> list[dict[str, Any]]:
    """The columns of the readable table; ``first``: the order in which the first click sorts."""
    numbers = _numbers(run)
    heads = []
    for head in map(str, run.shown.columns):
        _, more_is_better = numbers.get(head, ("", False))
        first = "descending" if more_is_better else "ascending"
        heads.append({"text": head, "number": head in numbers, "first": first})
    return heads


def lines_of(run: RunReport) -> list[dict[str, Any]]:
    """The rows of the readable table, in its order.

    ``facets``: a row's choices on the axes that vary, which filters use. ``key`` of a cell: what
    it sorts by, "" if empty. ``classes``: of CSS.
    """
    numbers = _numbers(run)
    with_whiskers = [f"{run.metric.name}_mean", "train_ratio", "infer_ratio"]
    whiskers = {column: _whiskers(run, column) for column in with_whiskers}

    def cell(number: int, head: str, text: str) -> dict[str, Any]:
        column, _ = numbers.get(head, ("", False))
        key, values = text, run.lines[number]
        if column:
            key = "" if values[column] is None else repr(float(values[column]))
        tie = column.endswith("_ratio") and bool(values[column.replace("_ratio", "_tie")])
        marks = {"number": bool(column), "tie": tie, "words": not column and len(text) > 24}
        whisker = whiskers[column][number] if column in whiskers else None
        return {"text": text, "key": key, "whisker": whisker, "classes": _classes(marks)}

    lines = []
    for number, (row, values) in enumerate(zip(run.rows, run.lines, strict=True)):
        ok, best = values["status"] == "ok", bool(values["tie"])
        marks = {"best": best, "bad": not ok, "reference": row.name == run.reference}
        lines.append(
            {
                "number": number,
                "name": run.short_name(row),
                "cells": [cell(number, str(h), t) for h, t in run.shown.iloc[number].items()],
                "facets": {axis: row.cell[axis] for axis in run.axes if not row.baseline},
                "baseline": bool(row.baseline),
                "ok": ok,
                "best": best,
                "classes": _classes(marks),
            }
        )
    return lines


def _classes(marks: dict[str, bool]) -> str:
    return " ".join(mark for mark, there in marks.items() if there)


def _whiskers(run: RunReport, column: str) -> list[list[float] | None]:
    """Low, middle and high of each row, in percent of one scale; None without an interval.

    The scale is logarithmic for ratios. It is that of the cells: a baseline that is far off is
    drawn at the edge.
    """
    name = column.removesuffix("_mean")
    ends = run.table[[f"{name}_low", column, f"{name}_high"]].to_numpy(dtype=float, copy=True)
    ends[np.isnan(ends).any(axis=1)] = np.nan
    if column.endswith("_ratio"):
        ends = np.log(ends)
    cells = ends[run.table["baseline"] == ""]
    if np.isnan(cells).all():
        return [None] * len(ends)
    least, most = np.nanmin(cells), np.nanmax(cells)
    percents = (100 * (ends - least) / ((most - least) or 1.0)).clip(0, 100)
    return [None if np.isnan(p).any() else [round(float(end), 1) for end in p] for p in percents]


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
    if row.deterministic:  # one model, whatever the seed
        details["seeds"] = [["any: a deterministic fit", details["seeds"][0][1]]]
        confusions = None if confusions is None else confusions[:1]
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


def incomplete_of(run: RunReport) -> list[dict[str, str]]:
    """What failed, was skipped or is missing: the row, what of it, status and reason."""
    found = []
    for row in run.rows:
        alike: dict[tuple[str, str, str], list[str]] = {}
        for r in row.failures:
            seeds = alike.setdefault((r.kind, r.status, r.reason), [])
            seeds += [] if r.seed is None else [str(r.seed)]
        for (kind, status, reason), seeds in alike.items():
            what = "cost" if kind == "cost" else f"seed {', '.join(seeds)}" if seeds else ""
            name = run.short_name(row)
            found.append({"row": name, "what": what, "status": status, "reason": reason})
        if row.only_tuned:
            missing = {"what": "training", "status": NOT_TRAINED, "reason": row.tried}
            found.append({"row": run.short_name(row), **missing})
    return found


_KINDS = {"train": "training", "tune": "tuning trial", "cost": "cost measurement"}


def environments_of(run: RunReport) -> list[dict[str, Any]]:
    """The distinct environments of the records that ran, each with how many ran in it."""
    counts: dict[tuple[tuple[str, str], ...], Counter[str]] = {}
    # A record that is there twice, because a later run took it over, is one piece of work.
    for record in {(r.key, r.seed, r.started): r for r in run.records}.values():
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
