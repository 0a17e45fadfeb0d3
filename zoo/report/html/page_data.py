"""What the page shows, as plain values: the table and the details of each row.

Each cell of the table has what it shows and what it sorts by.
"""

from __future__ import annotations

import shlex
from typing import Any

from zoo.report.rows import Row
from zoo.report.run_report import RunReport
from zoo.report.tables.columns import Column

LONGEST = 120  # characters of a row's name
WORDS = 24  # characters from which on a cell is a text that may be broken


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
    """All that is known of a row: its command and its scores by seed."""
    row = run.rows[number]
    seeds = {str(seed): run.metric.format(value) for seed, value in row.values.items()}
    if row.deterministic:  # one model, whatever the seed
        seeds = {"any (a deterministic fit)": next(iter(seeds.values()))}
    return {
        "name": run.short_name(row, LONGEST),
        "summary": run.describe(number),
        "command": row_command(row),
        "seeds": seeds,
        "failures": _failures(row),
        "kernels": row.cost.get("kernels") or [],
    }


def _failures(row: Row) -> list[str]:
    """What failed or was skipped, a reason once for all seeds: ``seed 1, 2 oom: out of memory``."""
    seeds: dict[str, list[str]] = {}
    for record in row.failures:
        text = f"{'cost ' if record.kind == 'cost' else ''}{record.status}: {record.reason}"
        seeds.setdefault(text, []).extend([] if record.seed is None else [str(record.seed)])
    return [f"seed {', '.join(of)}: {text}" if of else text for text, of in seeds.items()]


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
