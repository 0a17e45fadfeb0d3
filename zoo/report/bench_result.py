"""What ``zoo.bench`` returns: the report of a run, as a table, in words and for a notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from zoo.report.profile import Profile
from zoo.report.profile_text import profile_answer, scores_table
from zoo.report.run_report import RunReport
from zoo.report.write import report_text

COLUMNS = 10  # of the table


@dataclass(frozen=True, repr=False)
class BenchResult:
    """The outcome of a run. report: everything that is known. directory: of records and tables."""

    report: RunReport | Profile
    directory: Path

    @property
    def runs(self) -> dict[str, RunReport]:
        """The report of each data set, by its name."""
        if isinstance(self.report, Profile):
            return {data.name: data.run for data in self.report.data_sets}
        return {str(self.report.typical.config["data"]["name"]): self.report}

    @property
    def table(self) -> pd.DataFrame:
        """A line for each row in the columns that most readers want; what is unknown is NaN.

        ``report.table.frame`` has every column. Of several data sets: for each row on each of them.
        """
        if isinstance(self.report, Profile):
            return self.report.table
        readable = self.report.table.readable
        wanted = sorted(readable, key=lambda column: column.priority)[:COLUMNS]
        return self.report.table.frame[[column.key for column in readable if column in wanted]]

    @property
    def answer(self) -> str:
        """What the table says, in at most four lines."""
        if isinstance(self.report, Profile):
            return " ".join(profile_answer(self.report))
        return "\n".join(self.report.answer)

    def __repr__(self) -> str:
        return f"{report_text(self.report)}\nRecords and tables: {self.directory}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        if isinstance(self.report, Profile):
            heads, rows = scores_table(self.report)
            shown = pd.DataFrame(rows, columns=heads)
        else:
            shown = self.report.table.shown
        answer = "".join(f"<p>{html.escape(line)}</p>" for line in self.answer.splitlines())
        return (
            f"{shown.to_html(index=False, border=0, escape=True)}{answer}"
            f"<p>Records and tables: <code>{html.escape(str(self.directory))}</code></p>"
        )
