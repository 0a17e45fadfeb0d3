"""What the page shows, as plain values: the table, the details of a chosen row, failures.

Each cell of the table has what it shows, what it sorts by, and an interval to draw.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.errors import counted
from zoo.report.rows import NOT_TRAINED, Row, class_scores
from zoo.report.run_report import RunReport
from zoo.report.tables.columns import ALWAYS, Column
from zoo.report.tables.text import ends as ratio_ends
from zoo.report.tables.text import plain

LONGEST = 120  # characters of a row's name
WORDS = 24  # characters from which on a cell is a text that may be broken
WHOLE = 25  # classes up to which the whole confusion matrix is shown
PAIRS = 40  # with more classes, this many of the largest confusions
_KINDS = {"train": "training", "tune": "tuning trial", "cost": "cost measurement"}


def heads_of(run: RunReport) -> list[dict[str, Any]]:
    """The columns of the readable table.

    ``first``: the order in which the first click sorts. ``choice``: whether the column can be
    switched off; ``order``: when it is left out where the page is narrow, from 0.
    """
    columns = run.table.readable
    order = sorted((c for c in columns if c.priority != ALWAYS), key=lambda c: -c.priority)
    return [
        {
            "text": column.head,
            "place": place,
            "number": bool(column.better),
            "first": "descending" if column.better > 0 else "ascending",
            "choice": column in order,
            "order": order.index(column) if column in order else -1,
            "classes": _classes(
                number=bool(column.better), axis=bool(place) and column.key in run.axis_names
            ),
        }
        for place, column in enumerate(columns)
    ]


def lines_of(run: RunReport) -> list[dict[str, Any]]:
    """The rows of the readable table that are shown, in its order.

    ``facets``: a row's choices on the axes that vary, which filters use. ``key`` of a cell: what
    it sorts by, "" if empty. ``title``: what is shown where a pointer rests on it. ``classes``: of
    CSS.
    """
    score = f"{run.metric.name}_mean"
    whiskers = _whiskers(run)
    best = (run.verdicts.tied() or [""])[0]

    def cell(number: int, column: Column) -> dict[str, Any]:
        key, line = column.key, run.lines[number]
        text, value = run.table.texts[key][number], line[key]
        interval = ratio_ends(line.get(f"{key}_low"), line.get(f"{key}_high"))
        sorts_by = text if not column.better else "" if value is None else repr(float(value))
        classes = _classes(
            number=bool(column.better),
            words=not column.better and len(text) > WORDS,
            axis=key in run.axis_names[1:],
            score=key == score,
        )
        return {
            "text": text,
            "key": sorts_by,
            "title": interval,
            "whisker": whiskers[number] if key == score else None,
            "classes": classes,
        }

    lines = []
    for number in run.drawn:
        row, values = run.rows[number], run.lines[number]
        ok, verdict = values["status"] == "ok", run.verdicts.verdict(row.name, best)
        lines.append(
            {
                "number": number,
                "name": run.short_name(row, LONGEST),
                "cells": [cell(number, column) for column in run.table.readable],
                "facets": {axis: row.cell[axis] for axis in run.axes if not row.baseline},
                "baseline": bool(row.baseline),
                "ok": ok,
                "classes": _classes(better=verdict == 1, worse=verdict == -1, bad=not ok),
            }
        )
    return lines


def _classes(**marks: bool) -> str:
    return " ".join(mark for mark, there in marks.items() if there)


def tints_of(run: RunReport) -> str:
    """What tinted rows are; "" where nothing was ranked."""
    best = run.verdicts.tied()[:1]
    if not best or not run.verdicts.pairs:
        return ""
    name = run.short_name(run.rows[run.position[best[0]]])
    return (
        f"Tinted rows differ significantly from the best cell, {name}: blue ones are better, "
        "orange ones worse."
    )


def _whiskers(run: RunReport) -> list[list[float] | None]:
    """Low, middle and high score of each row, in percent of one scale; None without an interval.

    The scale is that of the cells: a baseline that is far off is drawn at the edge.
    """
    columns = [f"{run.metric.name}_{part}" for part in ("low", "mean", "high")]
    ends = run.table.frame[columns].to_numpy(dtype=float, copy=True)
    ends[np.isnan(ends).any(axis=1)] = np.nan
    cells = ends[run.table.frame["baseline"] == ""]
    if np.isnan(cells).all():
        return [None] * len(ends)
    least, most = np.nanmin(cells), np.nanmax(cells)
    percents = (100 * (ends - least) / ((most - least) or 1.0)).clip(0, 100)
    return [None if np.isnan(p).any() else [round(float(end), 1) for end in p] for p in percents]


def details_of(run: RunReport) -> dict[str, Any]:
    """The data of the page's script: of every row in the order of the table, plain values.

    None for a row that is not shown.
    """
    shown = set(run.drawn)
    labels = next((found for row in run.rows if (found := row.labels)), [])
    return {
        "labels": [plain(label) for label in labels],
        "metric": plain(run.metric.label),
        "rows": [_details(run, n, row) if n in shown else None for n, row in enumerate(run.rows)],
    }


def _details(run: RunReport, number: int, row: Row) -> dict[str, Any]:
    details: dict[str, Any] = {
        "name": plain(row.name),
        "summary": run.describe(number),
        "seeds": [[str(seed), run.metric.format(value)] for seed, value in row.values.items()],
        "command": row_command(row),
        "kernels": [plain(kernel) for kernel in row.cost.get("kernels") or []],
    }
    confusions = row.confusions
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
        others = [record.command for record in [*row.failed, *row.cost_records]]
        return plain(next(filter(None, others), ""))
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


def incomplete_of(run: RunReport) -> list[list[str]]:
    """What failed, was skipped or is missing: the row, what of it, status and reason."""
    found = []
    for row in run.rows:
        name = run.short_name(row)
        alike: dict[tuple[str, str, str], list[str]] = {}
        for r in row.failures:
            seeds = alike.setdefault((r.kind, r.status, r.reason), [])
            seeds += [] if r.seed is None else [str(r.seed)]
        for (kind, status, reason), seeds in alike.items():
            what = "cost" if kind == "cost" else f"seed {', '.join(seeds)}" if seeds else ""
            found.append([name, what, status, reason])
        if row.only_tuned:
            found.append([name, "training", NOT_TRAINED, row.tried])
    return found


def environment_of(run: RunReport) -> dict[str, str]:
    """How many records ran and their environments, by name; several values where they differ."""
    # A record that is there twice, because a later run took it over, is one piece of work.
    known = {(record.key, record.seed, record.started): record for record in run.records}
    ran = [record for record in known.values() if record.environment and record.status != "skipped"]
    counts = Counter(_KINDS[record.kind] for record in ran)
    found = {"work": [", ".join(counted(count, kind) for kind, count in counts.items())]}
    # Most records have the environment of the one before.
    different = {repr((r.environment, r.plugins)): r for r in reversed(ran)}
    for record in reversed(different.values()):
        for name, value in _flat(record.environment | {"plug-ins": record.plugins}):
            if value and value not in found.setdefault(name, []):
                found[name].append(value)
    return {name: "; ".join(values) for name, values in found.items() if any(values)}


def _flat(values: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key} ")
        else:
            text = ("yes" if value else "no") if isinstance(value, bool) else value
            yield plain(f"{before}{key}"), "" if text is None else plain(text)
