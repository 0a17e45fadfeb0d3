"""The report of one run: its table, the answer and the notes, made once for every writer."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from zoo.report.evaluated_run import EvaluatedRun
from zoo.report.tables.columns import ReportTable, make_table
from zoo.report.tables.learned import standings_of
from zoo.report.tables.notes import answer_of, notes_of

CAUTIONS = 2  # remarks on the data under the answer


class RunReport(EvaluatedRun):
    """An evaluated run with its table, answer and notes; tables, plots and page show them."""

    @cached_property
    def table(self) -> ReportTable:
        """A line for every row, and what a reader sees of it."""
        return make_table(self)

    def text(self, style: str = "simple", width: int | None = None) -> str:
        """The table in a style of tabulate's; see ``ReportTable.text``."""
        return self.table.text(style, width)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The values of the table."""
        return self.table.lines

    @cached_property
    def notes(self) -> list[str]:
        """The lines under the table."""
        return notes_of(self)

    @cached_property
    def answer(self) -> list[str]:
        """What the table says, in at most three lines, after one for each row beside others."""
        return [*self.standings, *answer_of(self)]

    @cached_property
    def standings(self) -> list[str]:
        """Where its own rows stand among those from elsewhere."""
        return standings_of([self], {row.name: self.short_name(row) for row in self.rows})

    @property
    def caution(self) -> str:
        """The first remarks on the data, as the answer may depend on them; the notes have all."""
        return " ".join(self.remarks[:CAUTIONS])
