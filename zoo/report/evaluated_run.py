"""What the records of one run say, evaluated once: rows, verdicts, speeds and effects."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property

from zoo.config.metric_description import MetricDescription
from zoo.measure.turns import PHASES
from zoo.report.rows import NO_METRIC, ReportRow, make_rows, varying_axes
from zoo.report.stats.effects import Effect, Effects, find_effects
from zoo.report.stats.intervals import ENOUGH, ENOUGH_SOLVED, ROUNDING
from zoo.report.stats.ratios import Speeds, find_reference
from zoo.report.stats.verdicts import ExchangeVerdicts, Verdicts
from zoo.report.tables.text import plain
from zoo.sweep.records import Record


class EvaluatedRun:
    """The rows of one run and everything that is known of their differences.

    metric: the one that ranks rows; by default the task's first. others: records of rows from
    elsewhere, which stand beside its own; of two rows of one name its own counts. Raises ZooError
    where there is no such metric.
    """

    def __init__(
        self, records: Sequence[Record], metric: str = "", others: Sequence[Record] = ()
    ) -> None:
        self.own, self.others = records, others
        own = {record.name for record in records}
        records = [*(record for record in others if record.name not in own), *records]
        self.records = records
        self.recorded_rows = make_rows(records, metric)  # in the order of the records
        self.reference = find_reference(self.recorded_rows)
        # The metrics of the task; the first one ranks rows.
        self.metrics: tuple[MetricDescription, ...] = (
            self.recorded_rows[0].metrics if self.recorded_rows else (NO_METRIC,)
        )
        self.metric = self.metrics[0]
        cells = (tuple(row.cell) for row in self.recorded_rows if row.cell)
        self.axis_names = next(cells, ("attention",))
        # The axes that vary, each with its choices, the reference's first.
        self.axes = varying_axes(self.recorded_rows, self.reference)
        # Row name to what it learns of a streamed diagnostic; empty for other data.
        self.learning = {row.name: row.learning for row in self.recorded_rows if row.learning}
        comparable = None if self.learning else find_effects(self.recorded_rows, self.reference)
        self._comparable = comparable

    @cached_property
    def reference_row(self) -> ReportRow | None:
        """The reference; None where its own records are not here."""
        return next((row for row in self.recorded_rows if row.name == self.reference), None)

    @cached_property
    def verdicts(self) -> Verdicts:
        """Which differences between rows are real: all that is said of them comes from here."""
        if self.learning:
            return ExchangeVerdicts(self.recorded_rows)
        effects = self._comparable.main if self._comparable else []
        enough = ENOUGH if self.chance is None else ENOUGH_SOLVED
        return Verdicts(self.recorded_rows, [effect.weights for effect in effects], enough)

    @cached_property
    def speeds(self) -> Speeds:
        """The speeds of the rows that were measured against the reference."""
        return Speeds(self.recorded_rows, self.reference)

    @cached_property
    def effects(self) -> Effects | None:
        """The effect of each component; None where the records have too little for any."""
        effects = self._comparable
        return replace(effects, main=[*map(self.estimated, effects.main)]) if effects else None

    def estimated(self, effect: Effect) -> Effect:
        """The same with difference, speed and memory."""
        peaks = {row.name: row.cost.get("peak_memory_mib") for row in self.recorded_rows}
        logs = [w * math.log(peak) for name, w in effect.weights.items() if (peak := peaks[name])]
        return replace(
            effect,
            difference=self.verdicts.difference(effect.weights),
            speed={phase: self.speeds.contrast(phase, effect.weights) for phase in PHASES},
            memory=math.exp(math.fsum(logs)) if len(logs) == len(effect.weights) else None,
        )

    @property
    def crossed(self) -> bool:
        """Whether cells differ on several axes, so that choices say more than rows."""
        return len(self.axes) > 1

    def compute_the_same(self, effect: Effect) -> bool:
        """Whether an effect is of two attentions that compute the same, up to rounding."""
        of = {effect.component, effect.against}
        rows = [row for row in self.recorded_rows if row.cell.get("attention") in of]
        return effect.axis == "attention" and all(row.exact for row in rows)

    @cached_property
    def rows(self) -> list[ReportRow]:
        """The rows in the order of the table: the best first, those that failed last."""

        def order(row: ReportRow) -> tuple[bool, Sequence[float], float]:
            score = -self.metric.better(row.mean) if row.values else math.inf
            key = row.learning.order if row.learning else (math.inf, score)
            return row.status != "ok", key, -(self.speeds.rate("train", row.name) or -math.inf)

        return sorted(self.recorded_rows, key=order)

    def by_score(self, *, baseline: bool) -> list[ReportRow]:
        """The cells, or the baselines, that have a score, the best first."""
        rows = [row for row in self.rows if row.values and bool(row.baseline) == baseline]
        if self.learning:
            return rows
        return sorted(rows, key=lambda row: -self.metric.better(row.mean))

    def tied_cells(self) -> list[ReportRow]:
        """The best cell and those that cannot be distinguished from it, the best mean first."""
        ties = set(self.verdicts.tied())
        return [row for row in self.by_score(baseline=False) if row.name in ties]

    @cached_property
    def best(self) -> ReportRow | None:
        """The cell that the answer calls the best; None where no cell has a score."""
        return next(iter([*self.tied_cells(), *self.by_score(baseline=False)]), None)

    @property
    def typical(self) -> Record:
        """The latest record, if possible of what was asked for and not of a trial of settings."""
        asked = (record for record in reversed(self.records) if record.kind != "tune")
        return next(asked, self.records[-1])

    @property
    def remarks(self) -> list[str]:
        """What the data set says of itself in sentences."""
        return list(self.typical.config["data"].get("remarks", [])) if self.records else []

    @cached_property
    def chance(self) -> float | None:
        """The score of guessing; None where the data set does not know it."""
        return self._level("chance")

    @property
    def chance_text(self) -> str:
        """The score of guessing as tables print it; empty where it is unknown."""
        return "" if self.chance is None else self.metric.format(self.chance)

    @property
    def solved_at(self) -> float | None:
        """The score with which the task is solved; None where the data set does not know it."""
        return self._level("solved_at")

    def _level(self, name: str) -> float | None:
        levels = (record.config["data"].get(name) for record in self.records)
        return next((float(level) for level in levels if level is not None), None)

    def solved(self, values: Collection[float]) -> int:
        """How many of these scores solve the task; it must be known with which one that is."""
        assert self.solved_at is not None
        least = self.metric.better(self.solved_at) - ROUNDING
        return sum(self.metric.better(value) >= least for value in values)

    def score_text(self, name: str) -> str:
        """The mean of a row with its interval, or what it learns; empty where it has no score."""
        if name in self.learning:
            return self.learning[name].text()
        interval = self.verdicts.intervals.get(name)
        return interval.text(self.metric.digits) if interval else ""

    def short_name(self, row: ReportRow, most: int = 60) -> str:
        """A row's choices on the axes that vary, or the first two, cut to ``most`` characters."""
        axes = self.axes or self.axis_names[:2]
        return plain(row.baseline or "+".join(row.cell[axis] for axis in axes), most)
