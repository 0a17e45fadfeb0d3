"""Records put together by the row of the table that they belong to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zoo.errors import ZooError
from zoo.sweep.records import Record
from zoo.tasks.score import ACCURACY, Score, scores_of


@dataclass(frozen=True)
class Row:
    """All that is known of one cell or baseline.

    trials: the latest of each seed, those that ended ok. failed: trials that did not, or that
    were skipped. probes: all of them, the latest last. scores: those of the task, the one that
    rows are ranked by first.
    """

    name: str
    cell: dict[str, str]
    baseline: str
    trials: dict[int, Record] = field(default_factory=dict)
    failed: list[Record] = field(default_factory=list)
    probes: list[Record] = field(default_factory=list)
    scores: tuple[Score, ...] = (ACCURACY,)

    @property
    def score(self) -> Score:
        """The score that rows are ranked by."""
        return self.scores[0]

    @cached_property
    def values(self) -> dict[int, float]:
        """Seed to the score that rows are ranked by."""
        return self.of(self.score)

    @property
    def accuracies(self) -> dict[int, float]:
        """The same, by the name it has where the score is an accuracy."""
        return self.values

    def of(self, score: Score) -> dict[int, float]:
        """Seed to a score; only seeds whose record has it."""
        found = {seed: record.metrics.get(score.name) for seed, record in self.trials.items()}
        return {seed: float(value) for seed, value in found.items() if value is not None}

    @cached_property
    def wrong(self) -> dict[int, NDArray[np.bool_]]:
        """Seed to whether each document was got wrong; only seeds whose record says which were."""
        masks = {}
        for seed, record in self.trials.items():
            if "errors" in record.metrics and self.documents:
                masks[seed] = np.zeros(self.documents, dtype=bool)
                masks[seed][[error[0] for error in record.metrics["errors"]]] = True
        return masks

    @cached_property
    def documents(self) -> int:
        """How many documents the score is the share of; 0 where it is none, or nobody says."""
        for record in self.trials.values():
            if documents := record.metrics.get("documents"):
                return int(documents)
            if confusion := record.metrics.get("confusion"):
                return sum(map(sum, confusion))
        return 0

    @property
    def probe(self) -> Record | None:
        """The latest probe."""
        return self.probes[-1] if self.probes else None

    @property
    def bad(self) -> Record | None:
        """The first outcome that is not ok; None where all is well."""
        probe = [self.probe] if self.probe is not None else []
        return next((r for r in [*self.failed, *probe] if r.status != "ok"), None)


def make_rows(records: Sequence[Record]) -> list[Row]:
    """One row per cell and baseline, in the order in which they first appear.

    A later record of the same row and seed stands in for an earlier one, and any that ran for
    one that was skipped: what could not be combined once may be by now. Raises ZooError for
    records of several tasks, whose scores do not compare.
    """
    tasks = list(dict.fromkeys(record.task for record in records))
    if len(tasks) > 1:
        raise ZooError(f"records of {' and '.join(tasks)}: one table holds one task")
    scores = scores_of(tasks[0]) if tasks else (ACCURACY,)
    latest: dict[tuple[str, int | None], Record] = {}
    rows: dict[str, Row] = {}
    for record in records:
        row = rows.setdefault(
            record.name, Row(record.name, record.cell, record.baseline, scores=scores)
        )
        if record.kind == "probe":
            row.probes.append(record)
        else:
            latest[record.name, record.seed] = record
    for (name, seed), record in latest.items():
        row = rows[name]
        if seed is not None and record.status == "ok" and _finite(record, scores[0]):
            row.trials[seed] = record
        elif record.status != "skipped" or not _ran(name, latest):
            row.failed.append(record)
    return list(rows.values())


def _finite(record: Record, score: Score) -> bool:
    return math.isfinite(record.metrics.get(score.name, math.nan))


def _ran(name: str, latest: dict[tuple[str, int | None], Record]) -> bool:
    return any(who == name and r.status != "skipped" for (who, _), r in latest.items())
