"""What ``zoo.bench`` returns: the table, the answer in words, and the run's directory."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pandas as pd

from zoo.report.profile import the_profile
from zoo.report.profile_text import profile_answer, profile_summary, scores_table
from zoo.report.run_report import RunReport
from zoo.report.tables.group_table import group_lines
from zoo.report.tables.readable import as_text, axes_in, metrics_in
from zoo.sweep.records import Record

SHOWN_FIRST = (
    *("seeds", "params", "train_tokens_per_s", "infer_tokens_per_s", "latency_ms"),
    *("peak_memory_mib", "train_seconds", "status", "model"),
)


@dataclass(frozen=True, repr=False)
class BenchResult:
    """The outcome of a run.

    table: one line for each row, or for each row on each data set; the columns that most readers
    want come first, and the rest as in ``table.csv``. answer: what the table says, in a few
    sentences. notes: what the numbers mean. directory: of records, tables and kept models. best:
    the name of the cell that the answer calls the best; empty where there is none, or where the
    run is on several data sets. models: the directories of the models that were kept
    (``save_models``), by row and seed, for ``zoo.load``.
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
    def of_records(cls, records: Sequence[Record], directory: Path, metric: str = "") -> Self:
        """Of a run on one data set."""
        report = RunReport(records, metric=metric)
        said = [*group_lines(report), *report.answer, "", *report.notes]
        return cls(
            table=short_first(report.table),
            answer=" ".join(report.answer),
            directory=directory,
            notes=report.notes,
            best=report.best.name if report.best else "",
            models={
                (record.name, record.seed or 0): directory / record.model
                for row in report.rows
                for record in row.trained.values()
                if record.model
            },
            text="\n".join([as_text(report.table), "", *said]),
            shown=report.shown,
        )

    @classmethod
    def of_data_sets(cls, directory: Path, metric: str = "") -> Self:
        """Of a run on several data sets: its profile."""
        profile = the_profile(directory, metric)
        heads, rows = scores_table(profile)
        return cls(
            table=profile.table,
            answer=" ".join(profile_answer(profile)),
            directory=directory,
            text=profile_summary(profile),
            shown=pd.DataFrame(rows, columns=heads),
        )

    def __repr__(self) -> str:
        return f"{self.text}\nRecords and tables: {self.directory}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        shown = self.shown.to_html(index=False, border=0, escape=True)
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return (
            f"{shown}<p>{html.escape(self.answer)}</p>"
            f"<details><summary>Notes</summary><ul>{notes}</ul></details>"
            f"<p>Records and tables: <code>{html.escape(str(self.directory))}</code></p>"
        )


def short_first(table: pd.DataFrame) -> pd.DataFrame:
    """The same table with the columns first that a reader wants: names, score, size and speed."""
    axes, metric = axes_in(table), metrics_in(table)[0].name
    cells = table[table["baseline"] == ""]
    varying = [axis for axis in axes if axis == axes[0] or cells[axis].nunique() > 1]
    score = [f"{metric}_{part}" for part in ("mean", "low", "high")]
    wanted = dict.fromkeys([*varying, *score, "rank", *SHOWN_FIRST])
    first = [column for column in wanted if column in table.columns]
    moved = table[[*first, *(c for c in table.columns if c not in wanted)]]
    moved.attrs = dict(table.attrs)
    return moved
