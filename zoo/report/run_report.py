"""One run: its records, and everything that tables, plots and page make of them, made once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from zoo.config.metric_description import MetricDescription
from zoo.report.rows import Row, make_rows, varying_axes
from zoo.report.stats.effects import Effects, judge, main_effects
from zoo.report.stats.ratios import Speeds, find_reference
from zoo.report.stats.verdicts import Verdicts
from zoo.report.tables.answer import answer, best_cell
from zoo.report.tables.chance import chance_note
from zoo.report.tables.models_note import models_note
from zoo.report.tables.notes import (
    baseline_notes,
    highest_noise,
    made_on,
    memory_notes,
    mixed_code,
    mixed_machines,
    notes,
    verdict_notes,
)
from zoo.report.tables.pretraining_notes import pretraining_notes
from zoo.report.tables.readable import axes_in, readable, readable_cells
from zoo.report.tables.table import build_table
from zoo.report.tables.text import plain
from zoo.report.tables.tuning_notes import tuning_notes
from zoo.sweep.records import Record


class RunReport:
    """The records of one run, and what is computed from them when it is first asked for.

    wanted: the reference cell to use, by name or by some of its choices; by default the one that
    the latest cost measurement was made against. metric: the one that ranks rows; by default the
    task's first. Raises ZooError where there is no such cell or metric.
    """

    def __init__(self, records: Sequence[Record], wanted: str = "", metric: str = "") -> None:
        self.records = records
        self.recorded_rows: list[Row] = make_rows(records, metric)  # in the order of the records
        self.reference = find_reference(self.recorded_rows, wanted)

    @cached_property
    def table(self) -> pd.DataFrame:
        """What ``table.csv`` holds: one row per cell, best first, then the rest, then baselines."""
        return build_table(self.recorded_rows, self.reference, self.verdicts)

    @cached_property
    def verdicts(self) -> Verdicts:
        """Which differences between rows are real: all that is said of them comes from here."""
        return judge(self.recorded_rows, self.reference)

    @cached_property
    def rows(self) -> list[Row]:
        """The rows in the order of the table."""
        by_name = {row.name: row for row in self.recorded_rows}
        columns = self.table[["baseline", *axes_in(self.table)]].itertuples(index=False)
        return [by_name[baseline or "+".join(cell)] for baseline, *cell in columns]

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The table's rows as plain values: NaN and NA are None."""
        filled = self.table.astype(object).where(self.table.notna(), None)
        return [{str(k): v for k, v in line.items()} for line in filled.to_dict("records")]

    @property
    def typical(self) -> Record:
        """The latest record, if possible of what was asked for and not of a trial of settings."""
        asked = (record for record in reversed(self.records) if record.kind != "tune")
        return next(asked, self.records[-1])

    @cached_property
    def notes(self) -> list[str]:
        """The lines under the table."""
        if not self.records:
            return ["No records."]
        used = [record for row in self.recorded_rows for record in row.used]
        last, names = self.typical, [self.short_name(row) for row in self.rows]
        return [
            *notes(self.table, self.verdicts.tests),
            *memory_notes(self.rows),
            *verdict_notes(self.verdicts, self.short_name),
            *baseline_notes(self.rows),
            *chance_note(self.lines, names, self.metric, self.chance),
            *pretraining_notes(last.config, self.table),
            *tuning_notes(self.rows),
            *models_note(self.rows, self.best),
            *last.config["data"].get("remarks", []),
            made_on(last, self.metric),
            *filter(None, [mixed_code(used), mixed_machines(used)]),
        ]

    @cached_property
    def answer(self) -> list[str]:
        """What the table says, in a few sentences."""
        if not self.records:
            return []
        values = self.cells.get(f"{self.metric.name}_mean", ())
        value = dict(zip(self.position, values, strict=False))
        return answer(
            self.rows,
            self.verdicts,
            Speeds(self.recorded_rows, self.reference),
            self.effects,
            self.short_name,
            lambda row: value[row.name],
        )

    @cached_property
    def best(self) -> Row | None:
        """The cell that the answer calls the best; None where no cell has a score."""
        return best_cell(self.rows, self.verdicts)

    @property
    def noise_floor(self) -> float:
        """The highest of its speed measurements, as a share; 0 where none is known."""
        return highest_noise(self.table)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The table as a person reads it, under the names of its columns (``readable_cells``)."""
        return readable_cells(self.table)

    @cached_property
    def shown(self) -> pd.DataFrame:
        """The same under the heads that are printed."""
        return readable(self.table)

    @property
    def metrics(self) -> tuple[MetricDescription, ...]:
        """The metrics of the task; the first one ranks rows."""
        return self.recorded_rows[0].metrics

    @property
    def metric(self) -> MetricDescription:
        """The metric that ranks rows."""
        return self.metrics[0]

    @cached_property
    def chance(self) -> float | None:
        """The score of guessing; None where the data set does not know it."""
        found = (record.config["data"].get("chance") for record in self.records)
        return next((float(value) for value in found if value is not None), None)

    @property
    def metric_label(self) -> str:
        """The metric with its unit, for an axis: ``accuracy, share of documents``."""
        metric = self.metric
        return f"{metric.label}, share of {metric.scored}" if metric.paired else metric.label

    @cached_property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The axes that vary, each with its choices, the reference's first."""
        return varying_axes(self.recorded_rows, self.reference)

    @cached_property
    def effects(self) -> Effects | None:
        """The effect of each component; None where the records have too little for any."""
        return main_effects(self.recorded_rows, self.reference, self.verdicts)

    @cached_property
    def position(self) -> dict[str, int]:
        """Row name to its place in the table, from 0."""
        return {row.name: number for number, row in enumerate(self.rows)}

    def short_name(self, row: Row, most: int = 60) -> str:
        """A row's choices on the axes that vary, cut to ``most`` characters."""
        parts = [row.cell[axis] for axis in self.axes] if not row.baseline else [row.baseline]
        return plain("+".join(parts or row.cell.values()), most)

    def describe(self, number: int) -> str:
        """A row of the table in one line: ``fused+rope: accuracy 0.943 ± 0.008; × train 1.10``."""
        line, heads = self.cells.iloc[number].to_dict(), self.cells.attrs["heads"]
        others = (f"{metric.name}_mean" for metric in self.metrics[1:])
        skip = {*axes_in(self.table), "params", "seeds", "rank", "front", *others}
        skip |= {"train_seconds", "pretrain_seconds"}
        if line.get("status") == "ok":
            skip.add("status")
        parts = [f"{heads[key]} {text}" for key, text in line.items() if text and key not in skip]
        return f"{self.short_name(self.rows[number])}: {plain('; '.join(parts), 200)}"
