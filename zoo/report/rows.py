"""Records put together by the row of the table that they belong to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zoo.harness.records import Record


@dataclass(frozen=True)
class Row:
    """All that is known of one cell or baseline.

    trials: the latest of each seed, those that ended ok. failed: trials that did not, or that
    were skipped. probes: all of them, the latest last.
    """

    name: str
    cell: dict[str, str]
    baseline: str
    trials: dict[int, Record] = field(default_factory=dict)
    failed: list[Record] = field(default_factory=list)
    probes: list[Record] = field(default_factory=list)

    @cached_property
    def accuracies(self) -> dict[int, float]:
        """Seed to accuracy."""
        return {seed: float(r.metrics["accuracy"]) for seed, r in self.trials.items()}

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
        """How many documents an accuracy is the share of; 0 where the records do not say."""
        for record in self.trials.values():
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
    one that was skipped: what could not be combined once may be by now.
    """
    latest: dict[tuple[str, int | None], Record] = {}
    rows: dict[str, Row] = {}
    for record in records:
        row = rows.setdefault(record.name, Row(record.name, record.cell, record.baseline))
        if record.kind == "probe":
            row.probes.append(record)
        else:
            latest[record.name, record.seed] = record
    for (name, seed), record in latest.items():
        row = rows[name]
        if seed is not None and record.status == "ok" and _finite(record):
            row.trials[seed] = record
        elif record.status != "skipped" or not _ran(name, latest):
            row.failed.append(record)
    return list(rows.values())


def _finite(record: Record) -> bool:
    return math.isfinite(record.metrics.get("accuracy", math.nan))


def _ran(name: str, latest: dict[tuple[str, int | None], Record]) -> bool:
    return any(who == name and r.status != "skipped" for (who, _), r in latest.items())
