"""One run: its records, and everything that tables, plots and page make of them, made once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from zoo.config.metric_description import MetricDescription
from zoo.report.rows import NO_METRIC, Row, axes_of, make_rows, varying_axes
from zoo.report.stats.effects import Effects, find_effects
from zoo.report.stats.intervals import ENOUGH, ENOUGH_SOLVED, ROUNDING
from zoo.report.stats.ratios import Speeds, find_reference
from zoo.report.stats.verdicts import Verdicts
from zoo.report.tables.answer import by_score, findings, next_step, tied_cells
from zoo.report.tables.columns import Column, columns_of
from zoo.report.tables.notes import cautions_of, notes_of
from zoo.report.tables.table import NO_ROW, lines_of_table
from zoo.report.tables.text import plain
from zoo.sweep.records import Record

LINES = 4  # of the answer
SOLVED = 0.9  # of the way from chance to the best possible score
MOST_DRAWN = 300  # rows of the table on the page and in plots, the first ones


class RunReport:
    """The records of one run, evaluated once: every writer is given this object.

    wanted: the reference cell to use, by name or by some of its choices; by default the one that
    the latest cost measurement was made against. metric: the one that ranks rows; by default the
    task's first. Raises ZooError where there is no such cell or metric.
    """

    def __init__(self, records: Sequence[Record], wanted: str = "", metric: str = "") -> None:
        self.records = records
        self.recorded_rows: list[Row] = make_rows(records, metric)  # in the order of the records
        self.reference = find_reference(self.recorded_rows, wanted)
        # The metrics of the task; the first one ranks rows.
        self.metrics: tuple[MetricDescription, ...] = (
            self.recorded_rows[0].metrics if self.recorded_rows else (NO_METRIC,)
        )
        self.metric = self.metrics[0]
        self.axis_names = axes_of(self.recorded_rows)
        # The axes that vary, each with its choices, the reference's first.
        self.axes = varying_axes(self.recorded_rows, self.reference)

    @cached_property
    def reference_row(self) -> Row | None:
        """The reference; None where its own records are not here."""
        return next((row for row in self.recorded_rows if row.name == self.reference), None)

    @cached_property
    def verdicts(self) -> Verdicts:
        """Which differences between rows are real: all that is said of them comes from here."""
        found = self._comparable
        of = (found.main, found.interactions) if found else ((), ())
        main, interactions = ([e.weights for e in effects] for effects in of)
        enough = ENOUGH if self.goal is None else ENOUGH_SOLVED
        return Verdicts(self.recorded_rows, main, interactions, self.reference, enough)

    @cached_property
    def speeds(self) -> Speeds:
        """The speeds of the rows that were measured against the reference."""
        return Speeds(self.recorded_rows, self.reference)

    @cached_property
    def _comparable(self) -> Effects | None:
        return find_effects(self.recorded_rows, self.reference)

    @cached_property
    def effects(self) -> Effects | None:
        """The effect of each component; None where the records have too little for any."""
        found = self._comparable
        return found.estimated(self.verdicts, self.speeds) if found else None

    @cached_property
    def _table(self) -> list[tuple[Row, dict[str, Any]]]:
        return lines_of_table(self)

    @cached_property
    def rows(self) -> list[Row]:
        """The rows in the order of the table."""
        return [row for row, _ in self._table if row is not NO_ROW]

    @cached_property
    def drawn(self) -> list[int]:
        """The places in the table of the rows that page and plots show.

        All; of very many the first ones, the reference and the baselines.
        """
        return [
            number
            for number, row in enumerate(self.rows)
            if number < MOST_DRAWN or row.baseline or row.name == self.reference
        ]

    @property
    def drawn_note(self) -> str:
        """That these are not all rows; empty where they are."""
        if len(self.drawn) == len(self.rows):
            return ""
        return (
            f"{len(self.drawn):,} of {len(self.rows):,} rows are shown here: the first "
            f"{MOST_DRAWN} of the table, the reference and the baselines. table.csv has all rows."
        )

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of the table, as plain values; what is unknown is None."""
        return [line for row, line in self._table if row is not NO_ROW]

    @cached_property
    def table(self) -> pd.DataFrame:
        """The same as a frame: what ``table.csv`` holds."""
        frame = pd.DataFrame([line for _, line in self._table]).iloc[: len(self.rows)]
        return frame.astype({"rank": "Int64"})

    @cached_property
    def columns(self) -> dict[str, Column]:
        """The table as a person reads it, by the names of the columns of ``table.csv``."""
        return {column.key: column for column in columns_of(self)}

    @cached_property
    def shown(self) -> pd.DataFrame:
        """The same under the heads that are printed; heads may be equal."""
        values = zip(*(column.values for column in self.columns.values()), strict=True)
        return pd.DataFrame(list(values), columns=[c.head for c in self.columns.values()])

    @cached_property
    def notes(self) -> list[str]:
        """The lines under the table."""
        return notes_of(self)

    @cached_property
    def next_step(self) -> str:
        """What to do next; empty where nothing suggests itself."""
        return next_step(self)

    @cached_property
    def answer(self) -> list[str]:
        """What the table says in at most four lines; where there is room, what to do next."""
        return [line for line in [*findings(self), self.next_step] if line][:LINES]

    @cached_property
    def cautions(self) -> list[str]:
        """What of the data the answer depends on; the notes have it too."""
        return cautions_of(self) if self.records else []

    @cached_property
    def best(self) -> Row | None:
        """The cell that the answer calls the best; None where no cell has a score."""
        return next(iter([*tied_cells(self), *by_score(self, baseline=False)]), None)

    @property
    def typical(self) -> Record:
        """The latest record, if possible of what was asked for and not of a trial of settings."""
        asked = (record for record in reversed(self.records) if record.kind != "tune")
        return next(asked, self.records[-1])

    @cached_property
    def tuned(self) -> list[str]:
        """The names of the settings that were chosen for each row."""
        return list(dict.fromkeys(name for row in self.recorded_rows for name in row.chosen))

    @cached_property
    def auxiliary(self) -> list[str]:
        """The names of the losses that parts of the models add to the task's."""
        return list(dict.fromkeys(name for row in self.recorded_rows for name in row.auxiliary))

    @cached_property
    def chance(self) -> float | None:
        """The score of guessing; None where the data set does not know it."""
        found = (record.config["data"].get("chance") for record in self.records)
        return next((float(value) for value in found if value is not None), None)

    @property
    def best_possible(self) -> float | None:
        """The best score that there can be; None where the metric has no such limit."""
        return self.metric.highest if self.metric.higher_is_better else self.metric.lowest

    @property
    def goal(self) -> float | None:
        """The score with which the task is solved; None without a chance level or a best score."""
        if self.chance is None or self.best_possible is None:
            return None
        return self.chance + SOLVED * (self.best_possible - self.chance)

    def solved(self, values: Collection[float]) -> int:
        """How many of these scores solve the task, which must have a goal."""
        assert self.goal is not None
        least = self.metric.better(self.goal) - ROUNDING
        return sum(self.metric.better(value) >= least for value in values)

    @property
    def metric_label(self) -> str:
        """The metric with its unit, for an axis: ``accuracy, share of documents``."""
        metric = self.metric
        return f"{metric.label}, share of {metric.scored}" if metric.paired else metric.label

    @cached_property
    def position(self) -> dict[str, int]:
        """Row name to its place in the table, from 0."""
        return {row.name: number for number, row in enumerate(self.rows)}

    def score_text(self, row: Row) -> str:
        """Its mean with the interval, as the table shows it."""
        return self.columns[f"{self.metric.name}_mean"].values[self.position[row.name]]

    def short_name(self, row: Row, most: int = 60) -> str:
        """A row's choices on the axes that vary, or the first two, cut to ``most`` characters."""
        axes = self.axes or self.axis_names[:2]
        return plain(row.baseline or "+".join(row.cell[axis] for axis in axes), most)

    def short_names(self, rows: Iterable[Row]) -> list[str]:
        """The same of several rows."""
        return [self.short_name(row) for row in rows]

    def describe(self, number: int) -> str:
        """A row of the table in one line: ``fused+rope: accuracy 0.943 ± 0.008; × train 1.10``."""
        others = (f"{metric.name}_mean" for metric in self.metrics[1:])
        skip = {*self.axis_names, "params", "seeds", "rank", "front", *others}
        skip |= {"train_seconds", "pretrain_seconds"}
        if self.lines[number]["status"] == "ok":
            skip.add("status")
        shown = [(c.head, c.texts[number]) for c in self.columns.values() if c.key not in skip]
        parts = [f"{head} {text}" for head, text in shown if text]
        return f"{self.short_name(self.rows[number])}: {plain('; '.join(parts), 200)}"
