"""What plots and page are made of: rows and table together, and how rows are called and told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from zoo.registry import AXES
from zoo.report.tables.columns import scores_in
from zoo.report.tables.layout import readable
from zoo.report.tables.rows import Row, make_rows
from zoo.report.tables.table import find_reference
from zoo.report.tables.text import plain
from zoo.sweep.records import Record
from zoo.tasks.score import ACCURACY, Score


@dataclass(frozen=True)
class Facts:
    """table: as ``make_table`` gives it. rows: in its order. reference: a row's name or ""."""

    records: Sequence[Record]
    table: pd.DataFrame
    rows: list[Row]
    reference: str

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The table's rows as plain values: NaN and NA are None."""
        filled = self.table.astype(object).where(self.table.notna(), None)
        return [{str(k): v for k, v in line.items()} for line in filled.to_dict("records")]

    @property
    def score(self) -> Score:
        """What rows are ranked by."""
        return scores_in(self.table)[0]

    @property
    def scale(self) -> str:
        """The score with its unit: ``accuracy, share of documents``."""
        if self.score.unit != "points":
            return self.score.label  # bits/byte is name and unit
        return f"{self.score.label}, share{' of documents' if self.score == ACCURACY else ''}"

    @cached_property
    def shown(self) -> pd.DataFrame:
        """The table as a person reads it."""
        return readable(self.table)

    @cached_property
    def axes(self) -> dict[str, list[str]]:
        """The axes that vary, each with its choices: the reference's first, others as they came."""
        cells = [row for row in self.made if not row.baseline]
        ordered = sorted(cells, key=lambda row: row.name != self.reference)
        levels = {axis: list(dict.fromkeys(row.cell[axis] for row in ordered)) for axis in AXES}
        return {axis: choices for axis, choices in levels.items() if len(choices) > 1}

    @cached_property
    def made(self) -> list[Row]:
        """The rows in the order in which they first appear in the records."""
        return make_rows(self.records)

    @cached_property
    def number(self) -> dict[str, int]:
        """Row name to its place in the table, from 0."""
        return {row.name: number for number, row in enumerate(self.rows)}

    def short(self, row: Row) -> str:
        """What tells this row from the others: its choices on the axes that vary."""
        parts = [row.cell[axis] for axis in self.axes] if not row.baseline else [row.baseline]
        return plain("+".join(parts or row.cell.values()), 60)

    def label(self, row: Row) -> str:
        """The same, cut to what a plot has room for."""
        return plain(self.short(row), 32)

    def told(self, number: int) -> str:
        """A row in one line: ``fused+rope: accuracy 0.943 ± 0.008; 1.10 × train …``."""
        line = self.shown.iloc[number].to_dict()
        others = (score.label for score in scores_in(self.table)[1:])
        skip = {*AXES, "params", "seeds", "rank", "front", "train s", *others}
        if line.get("status") == "ok":
            skip.add("status")
        parts = [f"{head} {value}" for head, value in line.items() if value and head not in skip]
        return f"{self.short(self.rows[number])}: {plain('; '.join(parts), 200)}"


def make_facts(records: Sequence[Record], table: pd.DataFrame, reference: str = "") -> Facts:
    """Facts of the same records and reference that the table was made of."""
    rows = {row.name: row for row in make_rows(records)}
    names = [
        baseline or "+".join(cell)
        for baseline, *cell in table[["baseline", *AXES]].itertuples(index=False)
    ]
    return Facts(
        records, table, [rows[n] for n in names], find_reference([*rows.values()], reference)
    )
