"""What ``zoo.bench`` returns: the table, the answer in words, and the run's directory."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pandas as pd

from zoo.report.profile import Profile
from zoo.report.profile_text import profile_answer, scores_table
from zoo.report.run_report import RunReport
from zoo.report.write import report_text

COLUMNS = 10  # of the short table
WHOLE = 1_000  # characters of a name


@dataclass(frozen=True, repr=False)
class BenchResult:
    """The outcome of a run.

    table: one line for each row, or for each row on each data set, in the ten columns that most
    readers want. details: the same with every column of ``table.csv``; what is unknown is NaN.
    answer: what the table says, in at most four lines. notes: what the numbers mean. directory: of
    records and tables. best: the cell that the answer calls the best, by the name that the answer
    has for it; empty where there is none, or where the run is on several data sets. text: what a
    terminal shows; shown: the table in it.
    """

    table: pd.DataFrame
    answer: str
    directory: Path
    notes: list[str] = field(default_factory=list)
    best: str = ""
    text: str = ""
    shown: pd.DataFrame = field(default_factory=pd.DataFrame)
    details: pd.DataFrame = field(default_factory=pd.DataFrame)

    @classmethod
    def of(cls, report: RunReport | Profile, directory: Path) -> Self:
        """The result of a run on one data set, or on several."""
        if isinstance(report, Profile):
            heads, rows = scores_table(report)
            return cls(
                table=report.table,
                details=report.table,
                answer=" ".join(profile_answer(report)),
                directory=directory,
                text=report_text(report),
                shown=pd.DataFrame(rows, columns=heads),
            )
        details = report.table.frame
        unknown = [name for name in details if details[name].isna().all()]
        details = details.astype(dict.fromkeys(unknown, float))
        wanted = sorted(report.table.readable, key=lambda column: column.priority)[:COLUMNS]
        return cls(
            table=details[[c.key for c in report.table.readable if c in wanted]],
            details=details,
            answer="\n".join(report.answer),
            directory=directory,
            notes=report.notes,
            best=report.short_name(report.best, WHOLE) if report.best else "",
            text=report_text(report),
            shown=report.table.shown,
        )

    def __repr__(self) -> str:
        return f"{self.text}\nRecords and tables: {self.directory}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        shown = self.shown.to_html(index=False, border=0, escape=True)
        answer = "".join(f"<p>{html.escape(line)}</p>" for line in self.answer.splitlines())
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return (
            f"{shown}{answer}"
            f"<details><summary>Notes</summary><ul>{notes}</ul></details>"
            f"<p>Records and tables: <code>{html.escape(str(self.directory))}</code></p>"
        )
