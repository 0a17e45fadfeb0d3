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

SHOWN_FIRST = (
    *("seeds", "params", "train_tokens_per_s", "infer_tokens_per_s", "latency_ms"),
    *("peak_memory_mib", "train_seconds", "status", "model"),
)


@dataclass(frozen=True, repr=False)
class BenchResult:
    """The outcome of a run.

    table: one line for each row, or for each row on each data set; the columns that most readers
    want come first, and the rest as in ``table.csv``. answer: what the table says, in at most four
    lines. notes: what the numbers mean. directory: of records, tables and kept models. best:
    the name of the cell that the answer calls the best; empty where there is none, or where the
    run is on several data sets. models: the directories of the models that were kept
    (``save_models``), by row and seed, for ``zoo.load``. text: what a terminal shows; shown: the
    table in it.
    """

    table: pd.DataFrame
    answer: str
    directory: Path
    notes: list[str] = field(default_factory=list)
    best: str = ""
    models: dict[tuple[str, int], Path] = field(default_factory=dict)
    text: str = ""
    shown: pd.DataFrame = field(default_factory=pd.DataFrame)

    @classmethod
    def of(cls, report: RunReport | Profile, directory: Path) -> Self:
        """The result of a run on one data set, or on several."""
        if isinstance(report, Profile):
            heads, rows = scores_table(report)
            return cls(
                table=report.table,
                answer=" ".join(profile_answer(report)),
                directory=directory,
                text=report_text(report),
                shown=pd.DataFrame(rows, columns=heads),
            )
        return cls(
            table=_short_first(report),
            answer="\n".join(report.answer),
            directory=directory,
            notes=report.notes,
            best=report.best.name if report.best else "",
            models={
                (record.name, record.seed or 0): directory / record.model
                for row in report.rows
                for record in row.trained.values()
                if record.model
            },
            text=report_text(report),
            shown=report.shown,
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


def _short_first(report: RunReport) -> pd.DataFrame:
    """The table with the columns first that a reader wants: names, score, size and speed."""
    table, names = report.table, report.axis_names
    varying = [axis for axis in names if axis == names[0] or axis in report.axes]
    score = [f"{report.metric.name}_{part}" for part in ("mean", "low", "high")]
    wanted = dict.fromkeys([*varying, *score, "rank", *SHOWN_FIRST])
    first = [column for column in wanted if column in table.columns]
    return table[[*first, *(column for column in table.columns if column not in wanted)]]
