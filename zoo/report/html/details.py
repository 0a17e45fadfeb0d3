"""What the page shows of one chosen row: seeds, classes, confusions, commands."""

from __future__ import annotations

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
