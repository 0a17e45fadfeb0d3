"""Records grouped by the table row they belong to, and what their settings have in common."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from zoo.config.metric_description import MetricDescription, ranked_by
from zoo.errors import ZooError
from zoo.report.stats.learning import Learning, learning_of
from zoo.sweep.records import Record, shared_part

# Where no record says what its task's metrics are, because nothing was trained.
NO_METRIC = MetricDescription(name="score", label="score")
PARTS = ("task_options", "sizes", "training", "tuning", "execution", "pretraining")


@dataclass(frozen=True)
class ReportRow:
    """Everything known of one cell or baseline.

    metrics: descriptions of the task's metrics; the first one ranks rows. trained: seed to its
    latest record, of those with status ok; a deterministic fit is there with every seed of the
    run. failed: training records with another status. trials: of the settings that were chosen for
    each row; where all have failed, so has the row. cost_records: all cost measurements, the latest
    last. learning: on a streamed diagnostic; ``trained`` is there at the best rate, and
    ``other_rates`` has the rest.
    """

    name: str
    cell: dict[str, str]
    baseline: str
    metrics: tuple[MetricDescription, ...] = (NO_METRIC,)
    trained: dict[int, Record] = field(default_factory=dict)
    failed: list[Record] = field(default_factory=list)
    trials: list[Record] = field(default_factory=list)
    cost_records: list[Record] = field(default_factory=list)
    learning: Learning | None = None
    other_rates: list[Record] = field(default_factory=list)

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

    def values_of(self, name: str) -> dict[int, float]:
        """Seed to the value of a metric, for the seeds whose record has it."""
        values = {seed: record.metrics.get(name) for seed, record in self.trained.items()}
        return {seed: float(value) for seed, value in values.items() if value is not None}

    @property
    def mean(self) -> float:
        """Of the ranking metric over the seeds; it must have a value."""
        return statistics.fmean(self.values.values())

    @cached_property
    def chosen(self) -> dict[str, float]:
        """The training settings that were chosen for this row, by name."""
        config = next((record.config for record in self.trained.values()), {})
        names = config.get("tuning", {}).get("values", {}) if self.trials else {}
        return {name: config["training"][name] for name in names}

    @cached_property
    def examples(self) -> int:
        """How many examples the ranking metric is the share of; 0 where it is not a share."""
        return int(self._recorded("examples") or 0) if self.metric.paired else 0

    @cached_property
    def effective_examples(self) -> float:
        """How many independent examples tell as much of the ranking metric; 0 where unknown."""
        counts = self._recorded("effective_examples") or {}
        return self.examples or float(counts.get(self.metric.name) or 0)

    @cached_property
    def wrong(self) -> dict[int, list[int]]:
        """Seed to the examples it got wrong, for the seeds whose record lists them."""
        known = {s: r.metrics.get("errors") for s, r in self.trained.items() if self.examples}
        return {seed: [e[0] for e in of] for seed, of in known.items() if of is not None}

    @property
    def measured(self) -> Record | None:
        """The latest cost measurement if it succeeded, else None."""
        return next((r for r in self.cost_records[-1:] if r.status == "ok"), None)

    @property
    def cost(self) -> dict[str, Any]:
        """Metrics of the latest cost measurement; empty where there is none or it failed."""
        return self.measured.metrics if self.measured else {}

    @property
    def parameters(self) -> Any:
        """Of its model; None where no record has it."""
        return self.cost.get("params") or self._recorded("params")

    @property
    def status(self) -> str:
        """``ok``, ``not trained`` of tuning trials alone, or the status of the first failure."""
        if self.trials and not self.trained and not self.failed:
            return "not trained"
        return self.bad.status if self.bad else "ok"

    @property
    def used(self) -> list[Record]:
        """The records that its numbers come from: without those that later ones replaced."""
        trained = [*self.trained.values(), *self.other_rates]
        return [*trained, *self.trials, *filter(None, [self.measured])]

    @property
    def failures(self) -> list[Record]:
        """The records whose status is not ok; of cost measurements, the latest counts."""
        return [r for r in [*self.failed, *self.cost_records[-1:]] if r.status != "ok"]

    @property
    def bad(self) -> Record | None:
        """The first of its failures; None where all went well."""
        return next(iter(self.failures), None)

    def _recorded(self, name: str) -> Any:
        """What the first of its trainings that knows it recorded under a name; else None."""
        return next(filter(None, (r.metrics.get(name) for r in self.trained.values())), None)


def make_rows(records: Sequence[Record], metric: str = "") -> list[ReportRow]:
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
    learned = learning_of(records, metrics[0].name)
    latest: dict[tuple[str, int | None, float | None], Record] = {}
    rows: dict[str, ReportRow] = {}
    for record in records:
        learning = learned.get(record.name)
        new = ReportRow(record.name, record.cell, record.baseline, metrics, learning=learning)
        row = rows.setdefault(record.name, new)
        if record.kind == "cost":
            row.cost_records.append(record)
        elif record.kind == "tune":
            row.trials.append(record)
        else:
            rate = record.config["training"]["lr"] if learning else None
            latest[record.name, record.seed, rate] = record
    ran = {name for (name, *_), record in latest.items() if record.status != "skipped"}
    for (name, seed, rate), record in latest.items():
        finite = math.isfinite(record.metrics.get(metrics[0].name, math.nan))
        if rate is not None and rate != learned[name].rate and record.status == "ok":
            rows[name].other_rates.append(record)
        elif seed is not None and record.status == "ok" and finite:
            rows[name].trained[seed] = record
        elif record.status != "skipped" or name not in ran:
            rows[name].failed.append(record)
    seeds = sorted({seed for row in rows.values() for seed in row.trained})
    for row in rows.values():
        if not row.trained and all(trial.status != "ok" for trial in row.trials):
            row.failed.extend(row.trials)  # no settings could be chosen to train it with
        if row.deterministic:  # other seeds would give the same, so it pairs with those of all rows
            latest_fit = list(row.trained.values())[-1]
            row.trained.update({seed: row.trained.get(seed, latest_fit) for seed in seeds})
    return list(rows.values())


def varying_axes(rows: Sequence[ReportRow], reference: str = "") -> dict[str, tuple[str, ...]]:
    """The axes on which cells differ, each with its choices; those of the reference come first."""
    ordered = sorted(rows, key=lambda row: row.name != reference)
    return varying([row.cell for row in ordered if not row.baseline])


def varying(cells: Sequence[Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
    """The axes on which these cells differ, each with its choices in their order."""
    choices = {a: tuple(dict.fromkeys(cell[a] for cell in cells)) for a in next(iter(cells), {})}
    return {axis: several for axis, several in choices.items() if len(several) > 1}


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """A record's settings under names such as ``training.epochs``, without the data's."""
    return {f"{part}.{k}": v for part in PARTS for k, v in shared_part(config, part).items()}


def environment_of(records: Sequence[Record]) -> dict[str, str]:
    """Machine and versions of what ran, by name; several values where they differ."""
    ran = [r for r in records if r.environment and r.status != "skipped"]
    facts = [r.environment | {"plug-in": r.plugins} for r in ran]
    table = pd.json_normalize(facts, sep=" ").astype(object)
    known = {name: [*map(str, column.dropna().unique())] for name, column in table.items()}
    return {str(name): "; ".join(filter(None, of)) for name, of in known.items() if any(of)}
