"""What the page shows, as plain values: the table and the details of each row.

Each cell of the table has what it shows and what it sorts by.
"""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.report.rows import NOT_TRAINED, Row, class_scores
from zoo.report.run_report import RunReport
from zoo.report.tables.columns import Column

LONGEST = 120  # characters of a row's name
WORDS = 24  # characters from which on a cell is a text that may be broken
CLASSES = 10  # that a row has details of; with more classes, those with the lowest F1


def lines_of(run: RunReport) -> list[dict[str, Any]]:
    """The rows of the table that the page shows, in its order.

    ``key`` of a cell: what it sorts by, "" if empty. ``tint``: better or worse, where a row differs
    significantly from the best cell.
    """
    best = next(iter(run.verdicts.tied()), "")
    tints = {1: "better", -1: "worse"}

    def cell(number: int, column: Column) -> dict[str, Any]:
        text, value = run.table.texts[column.key][number], run.lines[number][column.key]
        return {
            "text": text,
            "key": "" if value is None else repr(float(value)) if column.better else text,
            "look": "number" if column.better else "wide" if len(text) > WORDS else "",
        }

    return [
        {
            "number": number,
            "cells": [cell(number, column) for column in run.table.readable],
            "tint": tints.get(run.verdicts.verdict(run.rows[number].name, best) or 0, ""),
            "details": _details(run, number),
        }
        for number in run.drawn
    ]


def _details(run: RunReport, number: int) -> dict[str, Any]:
    """All that is known of a row: its command, and its scores by seed and by class."""
    row = run.rows[number]
    seeds = {str(seed): run.metric.format(value) for seed, value in row.values.items()}
    confusions = row.confusions
    if row.deterministic:  # one model, whatever the seed
        seeds = {"any (a deterministic fit)": next(iter(seeds.values()))}
        confusions = None if confusions is None else confusions[:1]
    return {
        "name": run.short_name(row, LONGEST),
        "summary": run.describe(number),
        "command": row_command(row),
        "seeds": seeds,
        "failures": _failures(row),
        "kernels": row.cost.get("kernels") or [],
        "by_class": None if confusions is None else _by_class(confusions, row.labels),
    }


def _failures(row: Row) -> list[str]:
    """What failed or was skipped, a reason once for all seeds: ``seed 1, 2 oom: out of memory``."""
    seeds: dict[str, list[str]] = {}
    for record in row.failures:
        text = f"{'cost ' if record.kind == 'cost' else ''}{record.status}: {record.reason}"
        seeds.setdefault(text, []).extend([] if record.seed is None else [str(record.seed)])
    failures = [f"seed {', '.join(of)}: {text}" if of else text for text, of in seeds.items()]
    return [f"{NOT_TRAINED}: {row.tried}", *failures] if row.only_tuned else failures


def _by_class(confusions: NDArray[np.int_], names: list[str]) -> dict[str, Any]:
    """Scores by class, and true against predicted class; confusions (seeds, classes, classes)."""
    total, count = confusions.sum(axis=0), len(confusions[0])
    labels = names or [str(number) for number in range(count)]
    scores = class_scores(confusions).mean(axis=0)  # (classes, 3)
    shown = sorted(np.argsort(scores[:, 2], kind="stable")[:CLASSES])
    examples = total.sum(axis=1)
    shares = (total / np.maximum(1, examples)[:, None]).round(2)
    numbers = [
        [*(f"{v:.3f}" for v in scores[i]), f"{examples[i] / len(confusions):g}"] for i in shown
    ]
    return {
        "few": count > CLASSES,
        "classes": [(labels[i], *texts) for i, texts in zip(shown, numbers, strict=True)],
        "predicted": [labels[j] for j in shown],
        "confusion": [
            (labels[i], [(int(total[i, j]), float(shares[i, j])) for j in shown]) for i in shown
        ],
    }


def row_command(row: Row) -> str:
    """The command that repeats the training of all of a row's seeds; "" if no record has one."""
    commands = {seed: r.command for seed, r in row.trained.items() if r.command}
    if not commands:
        others = [record.command for record in [*row.failed, *row.cost_records]]
        return next(filter(None, others), "")
    first = next(iter(commands.values()))
    try:
        words = shlex.split(first)
    except ValueError:
        return first  # not written by us
    seeds = sorted(commands)
    if "--seed" in words:
        place = words.index("--seed")
        all_seeds = ["--seeds", str(len(seeds))] if seeds == list(range(len(seeds))) else []
        words[place : place + 2] = all_seeds or [w for s in seeds for w in ("--seed", str(s))]
    return shlex.join(words)
