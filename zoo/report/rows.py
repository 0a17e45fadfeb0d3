"""Records grouped by the table row they belong to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.config.metric_description import MetricDescription, ranked_by
from zoo.config.settings import machine_of
from zoo.errors import ZooError
from zoo.sweep.records import Record

# Where no record says what its task's metrics are, because nothing was trained.
NO_METRIC = MetricDescription(name="score", label="score")
NOT_TRAINED = "not trained"  # the status of a row that has tuning trials alone


@dataclass(frozen=True)
class Row:
    """Everything known of one cell or baseline.

    metrics: descriptions of the task's metrics; the first one ranks rows. trained: seed to its
    latest record, of those with status ok; a deterministic fit is there with every seed of the
    run. failed: training records with another status. trials: of the settings that were chosen for
    each row. cost_records: all cost measurements, the latest last.
    """

    name: str
    cell: dict[str, str]
    baseline: str
    metrics: tuple[MetricDescription, ...] = (NO_METRIC,)
    trained: dict[int, Record] = field(default_factory=dict)
    failed: list[Record] = field(default_factory=list)
    trials: list[Record] = field(default_factory=list)
    cost_records: list[Record] = field(default_factory=list)

    @property
    def metric(self) -> MetricDescription:
        """The metric that ranks rows."""
        return self.metrics[0]

    @property
    def deterministic(self) -> bool:
        """Whether its records say that no seed changes it."""
        records = self.trained.values()
        return bool(records) and all(r.metrics.get("deterministic") is True for r in records)

    @property
    def exact(self) -> bool:
        """Whether all its records say that its attention is exact."""
        return bool(self.used) and all(record.exact for record in self.used)

    @cached_property
    def values(self) -> dict[int, float]:
        """Seed to the value of the ranking metric."""
        return self.values_of(self.metric.name)

    @property
    def mean(self) -> float:
        """Of the ranking metric over the seeds; it must have a value."""
        return statistics.fmean(self.values.values())

    def recorded(self, name: str) -> list[Any]:
        """What its trainings recorded under a name, without what is empty."""
        return [value for r in self.trained.values() if (value := r.metrics.get(name))]

    def values_of(self, name: str) -> dict[int, float]:
        """Seed to the value of a metric, for the seeds whose record has it."""
        values = {seed: record.metrics.get(name) for seed, record in self.trained.items()}
        return {seed: float(value) for seed, value in values.items() if value is not None}

    @cached_property
    def groups(self) -> dict[str, dict[int, float]]:
        """Group of test examples to the value of the ranking metric, by seed."""
        groups: dict[str, dict[int, float]] = {}
        for seed, record in self.trained.items():
            for group, metrics in record.metrics.get("groups", {}).items():
                if (value := metrics.get(self.metric.name)) is not None:
                    groups.setdefault(group, {})[seed] = float(value)
        return groups

    @cached_property
    def chosen(self) -> dict[str, float]:
        """The training settings that were chosen for this row, by name."""
        config = next((record.config for record in self.trained.values()), {})
        names = config.get("tuning", {}).get("values", {}) if self.trials else {}
        return {name: config["training"][name] for name in names}

    @cached_property
    def examples(self) -> int:
        """How many examples the ranking metric is the share of; 0 where it is not a share."""
        return int(next(iter(self.recorded("examples")), 0)) if self.metric.paired else 0

    @cached_property
    def effective_examples(self) -> float:
        """How many independent examples tell as much of the ranking metric; 0 where unknown."""
        if self.examples:
            return self.examples
        counts = (
            by_metric.get(self.metric.name) for by_metric in self.recorded("effective_examples")
        )
        return min((float(count) for count in counts if count), default=0.0)

    @cached_property
    def wrong(self) -> dict[int, NDArray[np.bool_]]:
        """Seed to a mask of the examples it got wrong, for the seeds whose record lists them."""
        masks = {}
        for seed, record in self.trained.items():
            if "errors" in record.metrics and self.examples:
                masks[seed] = np.zeros(self.examples, dtype=bool)
                masks[seed][[error[0] for error in record.metrics["errors"]]] = True
        return masks

    @property
    def confusions(self) -> NDArray[np.int_] | None:
        """Confusion matrices by seed (seeds, truth, predicted); None unless all seeds have one."""
        matrices = [r.metrics.get("confusion") for _, r in sorted(self.trained.items())]
        return np.array(matrices) if matrices and all(matrices) else None

    @property
    def labels(self) -> list[str]:
        """The names of the classes; empty where the records have none."""
        labels = (record.config["data"].get("labels") for record in self.trained.values())
        return [str(label) for label in next(labels, None) or []]

    @property
    def cost_record(self) -> Record | None:
        """The latest cost measurement, whatever its status."""
        return self.cost_records[-1] if self.cost_records else None

    @property
    def measured(self) -> Record | None:
        """The latest cost measurement if it succeeded, else None."""
        record = self.cost_record
        return record if record is not None and record.status == "ok" else None

    @property
    def cost(self) -> dict[str, Any]:
        """Metrics of the latest cost measurement; empty where there is none or it failed."""
        return self.measured.metrics if self.measured else {}

    @property
    def parameters(self) -> int:
        """Of its model; 0 where no record has it."""
        return int(self.cost.get("params") or next(iter(self.recorded("params")), 0))

    @property
    def only_skipped(self) -> bool:
        """Whether every record of it says that it was skipped."""
        if self.trained or self.cost_records or not self.failed:
            return False
        return all(record.status == "skipped" for record in self.failed)

    @property
    def only_tuned(self) -> bool:
        """Whether its settings were tried and no training with the chosen ones followed."""
        return bool(self.trials) and not self.trained and not self.failed

    @property
    def status(self) -> str:
        """``ok``, ``not trained``, or the status of the first of its failures."""
        if self.only_tuned:
            return NOT_TRAINED
        return self.bad.status if self.bad else "ok"

    @property
    def tried(self) -> str:
        """How many of its trials there are: ``2 of 3 tuning trials``; empty without any."""
        if not self.trials:
            return ""
        tuning = self.trials[0].config["tuning"]
        there = {
            (record.seed, *(record.config["training"][name] for name in tuning["values"]))
            for record in self.trials
        }
        asked = math.prod(map(len, tuning["values"].values())) * tuning["seeds"]
        return f"{len(there)} of {asked} tuning trials"

    @property
    def used(self) -> list[Record]:
        """The records that its numbers come from: without those that later ones replaced."""
        return [*self.trained.values(), *self.trials, *filter(None, [self.measured])]

    @property
    def failures(self) -> list[Record]:
        """The records whose status is not ok; of cost measurements, the latest counts."""
        return [r for r in [*self.failed, *self.cost_records[-1:]] if r.status != "ok"]

    @property
    def bad(self) -> Record | None:
        """The first of its failures; None where all went well."""
        return next(iter(self.failures), None)


def make_rows(records: Sequence[Record], metric: str = "") -> list[Row]:
    """One row per cell and baseline, in the order in which they first appear.

    metric: the one that ranks rows; empty for the task's first. A later record replaces an earlier
    one of the same row and seed, and a record that ran replaces one that was skipped: a new version
    may combine what an older one could not. Raises ZooError for a metric that the records do not
    have, and for records of several tasks, whose metrics do not compare.
    """
    tasks = list(dict.fromkeys(record.task for record in records))
    if len(tasks) > 1:
        raise ZooError(f"records of {' and '.join(tasks)}: a table has one task")
    described = (r.metric_descriptions for r in reversed(records) if r.metric_descriptions)
    metrics = ranked_by(next(described, (NO_METRIC,)), metric)
    latest: dict[tuple[str, int | None], Record] = {}
    rows: dict[str, Row] = {}
    for record in records:
        row = rows.setdefault(record.name, Row(record.name, record.cell, record.baseline, metrics))
        if record.kind == "cost":
            row.cost_records.append(record)
        elif record.kind == "tune":
            row.trials.append(record)
        else:
            latest[record.name, record.seed] = record
    ran = {name for (name, _), record in latest.items() if record.status != "skipped"}
    for (name, seed), record in latest.items():
        finite = math.isfinite(record.metrics.get(metrics[0].name, math.nan))
        if seed is not None and record.status == "ok" and finite:
            rows[name].trained[seed] = record
        elif record.status != "skipped" or name not in ran:
            rows[name].failed.append(record)
    seeds = sorted({seed for row in rows.values() for seed in row.trained})
    for row in rows.values():
        if row.deterministic:  # other seeds would give the same, so it pairs with those of all rows
            latest_fit = list(row.trained.values())[-1]
            row.trained.update({seed: row.trained.get(seed, latest_fit) for seed in seeds})
    return list(rows.values())


def trained_on_one_kind_of_machine(rows: Sequence[Row]) -> bool:
    """Whether the seconds of trainings compare: all on alike machines, with as many threads."""
    trained = [record for row in rows for record in row.trained.values()]
    return len({machine_of(record.environment) for record in trained}) <= 1


def axes_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The axes of the grid, from the cells; ("attention",) where there are only baselines."""
    return next((tuple(row.cell) for row in rows if row.cell), ("attention",))


def varying_axes(rows: Sequence[Row], reference: str = "") -> dict[str, tuple[str, ...]]:
    """The axes on which cells differ, each with its choices; those of the reference come first."""
    ordered = sorted(rows, key=lambda row: row.name != reference)
    return varying([row.cell for row in ordered if not row.baseline])


def varying(cells: Sequence[Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
    """The axes on which these cells differ, each with its choices in their order."""
    choices = {a: tuple(dict.fromkeys(cell[a] for cell in cells)) for a in next(iter(cells), {})}
    return {axis: several for axis, several in choices.items() if len(several) > 1}


def find_row(rows: Sequence[Row], wanted: str) -> Row | None:
    """The first cell with this name, or with all of these choices: ``fused+sin``."""
    parts = {part.strip() for part in wanted.split("+")}
    for row in rows:
        if not row.baseline and (row.name == wanted or parts <= set(row.cell.values())):
            return row
    return None


def class_scores(confusions: NDArray[np.int_]) -> NDArray[np.float64]:
    """Precision, recall and F1 (seeds, classes, 3) of confusion matrices (seeds, classes, classes).

    A share of nothing counts as 0, as in scikit-learn with ``zero_division=0``.
    """
    right = np.diagonal(confusions, axis1=1, axis2=2).astype(float)
    predicted, true = confusions.sum(axis=1), confusions.sum(axis=2)
    precision = right / np.maximum(predicted, 1)
    recall = right / np.maximum(true, 1)
    f1 = 2 * right / np.maximum(predicted + true, 1)
    return np.stack([precision, recall, f1], axis=-1)
