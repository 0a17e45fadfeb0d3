"""What the page tells of one chosen row: seeds, classes, confusions, commands."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.report.tables.report_data import Facts
from zoo.report.tables.rows import Row
from zoo.report.tables.text import plain
from zoo.sweep.records import Record

SHOWN = 25  # classes up to which the whole confusion matrix is shown
PAIRS = 40  # beyond that, the largest confusions


def details_of(facts: Facts) -> list[dict[str, Any]]:
    """Of every row, in the order of the table, what the page's script shows; plain values."""
    return [_details(facts, number) for number in range(len(facts.rows))]


def labels_of(facts: Facts) -> list[str]:
    """The names of the classes; empty where the records hold none."""
    labels = facts.records[-1].config["data"].get("labels") or []
    return [plain(label) for label in labels]


def _details(facts: Facts, number: int) -> dict[str, Any]:
    row = facts.rows[number]
    probe = row.probe.metrics if row.probe and row.probe.status == "ok" else {}
    told: dict[str, Any] = {
        "name": plain(row.name),
        "told": facts.told(number),
        "seeds": [
            [str(seed), facts.score.form.format(value)] for seed, value in row.values.items()
        ],
        "command": row_command(row),
        "kernels": [plain(kernel) for kernel in probe.get("kernels") or []],
    }
    matrices = [r.metrics.get("confusion") for r in row.trials.values()]
    if matrices and all(matrices):
        confusions = np.array(matrices)
        total = confusions.sum(axis=0)
        told["classes"] = per_class(confusions).round(4).tolist()
        told["documents"] = total.sum(axis=1).tolist()
        told["confusions"] = _nonzero(total)
        told["cut"] = len(total) > SHOWN
    return told


def per_class(confusions: NDArray[np.int_]) -> NDArray[np.float64]:
    """Precision, recall and F1 of every class (classes, 3), averaged over seeds.

    confusions: (seeds, classes, classes), truth in the rows. A share of nothing counts as 0, as
    in scikit-learn with ``zero_division=0``, of which the table's macro F1 is.
    """
    right = np.diagonal(confusions, axis1=1, axis2=2).astype(float)
    guessed, there = confusions.sum(axis=1), confusions.sum(axis=2)
    precision = right / np.maximum(guessed, 1)
    recall = right / np.maximum(there, 1)
    f1 = 2 * right / np.maximum(guessed + there, 1)
    means: NDArray[np.float64] = np.stack([precision, recall, f1], axis=-1).mean(axis=0)
    return means


def _nonzero(total: NDArray[np.int_]) -> list[list[int]]:
    """Truth, answer and documents; of very many classes only the largest confusions."""
    if len(total) <= SHOWN:
        return [[int(i), int(j), int(total[i, j])] for i, j in np.argwhere(total)]
    apart = total - np.diag(np.diagonal(total))
    largest = np.argsort(-apart, axis=None, kind="stable")[:PAIRS]
    pairs = [divmod(int(place), len(total)) for place in largest]
    return [[i, j, int(apart[i, j])] for i, j in pairs if apart[i, j]]


def row_command(row: Row) -> str:
    """The command that repeats all trials of a row; empty where no record holds one."""
    commands = {seed: r.command for seed, r in row.trials.items() if r.command}
    if not commands:
        records: Sequence[Record] = [*row.failed, *row.probes]
        return plain(next((record.command for record in records if record.command), ""))
    first = next(iter(commands.values()))
    try:
        words = shlex.split(first)
    except ValueError:
        return plain(first)  # no command of ours
    seeds = sorted(commands)
    if "--seed" in words:
        place = words.index("--seed")
        whole = ["--seeds", str(len(seeds))] if seeds == list(range(len(seeds))) else []
        words[place : place + 2] = whole or [w for seed in seeds for w in ("--seed", str(seed))]
    return plain(shlex.join(words))


def failures_of(facts: Facts) -> list[dict[str, str]]:
    """What did not end well or was not run: row, which trials, status and reason."""
    found = []
    for row in facts.rows:
        bad = [*row.failed, *([row.probe] if row.probe and row.probe.status != "ok" else [])]
        reasons = Counter((r.kind, r.status, r.reason) for r in bad)
        for kind, status, reason in reasons:
            which = [r.seed for r in bad if (r.kind, r.status, r.reason) == (kind, status, reason)]
            seeds = ", ".join(str(seed) for seed in which if seed is not None)
            what = "probe" if kind == "probe" else f"seed {seeds}" if seeds else ""
            found.append(
                {"row": facts.short(row), "what": what, "status": status, "reason": reason}
            )
    return found


def environments_of(facts: Facts) -> list[dict[str, Any]]:
    """The distinct environments of the records that ran, each with how many ran in it."""
    counts: dict[tuple[tuple[str, str], ...], Counter[str]] = {}
    for record in facts.records:
        if record.environment and record.status != "skipped":
            values = tuple(_flat(record.environment | {"plug-ins": record.plugins}))
            counts.setdefault(values, Counter())[record.kind] += 1
    return [
        {
            "title": " and ".join(
                f"{n} {kind}{'' if n == 1 else 's'}" for kind, n in kinds.items()
            ),
            "values": [(key, value) for key, value in values if value],
        }
        for values, kinds in counts.items()
    ]


def _flat(values: dict[str, Any], before: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, dict):
            found += _flat(value, f"{before}{key} ")
        elif isinstance(value, bool):
            found.append((plain(f"{before}{key}"), "yes" if value else "no"))
        else:
            found.append((plain(f"{before}{key}"), "" if value is None else plain(value)))
    return found
