"""What is made of a run's records: text for a terminal, JSON, files, and the value of a bench."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from zoo.files import replacing
from zoo.report.profile import Profile
from zoo.report.run_report import RunReport
from zoo.report.tables.text import bullets, line
from zoo.sweep.records import Record

if TYPE_CHECKING:
    from zoo.report.plots.plot import Plot

PLOTS = "plots"  # the folder in a run's directory
NAMES = ("pareto-speed", "pareto-memory", "epochs")  # of plots
PAGE = "report.html"
Report: TypeAlias = RunReport | Profile


@dataclass(frozen=True, repr=False)
class BenchResult:
    """The outcome of a run. report: everything that is known. directory: of records and tables."""

    report: Report
    directory: Path

    @property
    def runs(self) -> dict[str, RunReport]:
        """The report of each data set, by its name."""
        if isinstance(self.report, Profile):
            return {data.name: data.run for data in self.report.data_sets}
        return {str(self.report.typical.config["data"]["name"]): self.report}

    @property
    def table(self) -> pd.DataFrame:
        """A line for each row in the columns that a reader sees; what is unknown is NaN.

        ``report.table.frame`` has every column. Of several data sets: for each row on each of them.
        """
        if isinstance(self.report, Profile):
            return self.report.table
        return self.report.table.frame[[column.key for column in self.report.table.readable]]

    @property
    def answer(self) -> str:
        """What the table says, in at most four lines."""
        return "\n".join(self.report.answer)

    def __repr__(self) -> str:
        return f"{report_text(self.report)}\nRecords and tables: {self.directory}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        shown = self.table if isinstance(self.report, Profile) else self.report.table.shown
        said = [*self.report.answer, f"Records and tables: {self.directory}"]
        lines = "".join(f"<p>{html.escape(text)}</p>" for text in said)
        return f"{shown.to_html(index=False, border=0)}{lines}"


def report_text(report: Report, width: int | None = None) -> str:
    """What a terminal shows: the table and the answer.

    width: of the terminal, in characters; None for the whole table.
    """
    return f"{report.text(width=width)}\n\n{answer_text(report)}"


def answer_text(report: Report) -> str:
    """The answer, and at most two remarks on the data; of a profile the notes."""
    if isinstance(report, Profile):
        return "\n".join([" ".join(report.answer), *report.notes])
    return "\n".join([*report.answer, *report.cautions])


def report_data(report: Report, directory: Path) -> dict[str, Any]:
    """The report as plain values, for JSON: answer, notes and the rows of ``table.csv``.

    Of a run on several data sets: a line for each row on each of them.
    """
    lines = "scores" if isinstance(report, Profile) else "rows"
    data = {"directory": str(directory), "answer": report.answer, "notes": report.notes}
    return data | {lines: report.lines}


def write_report(report: Report, directory: Path, name: str = "", *, inner: bool = True) -> Path:
    """Write tables, plots and page into an existing directory; the page is returned.

    name: of the run, for the page, whose title is by default what was compared. Plots go to
    ``plots/``, as PNG and SVG, those that there are enough records for; older files of the others
    are deleted. inner: of a run on several data sets, also write the report of each. The same
    records give the same bytes on every machine with the same versions of the libraries. Raises
    WriteError where a file cannot be written.
    """
    from zoo.report.page import report_page
    from zoo.report.plots.profile_plot import profile_plot

    write_tables(report, directory)
    plots = [profile_plot(report)] if isinstance(report, Profile) else make_plots(report)
    folder = directory / PLOTS
    folder.mkdir(exist_ok=True)
    for old in set(NAMES) - {plot.name for plot in plots}:
        for suffix in (".png", ".svg"):
            folder.joinpath(f"{old}{suffix}").unlink(missing_ok=True)
    for plot in plots:
        write_file(folder / f"{plot.name}.svg", f"{plot.svg}\n")
        write_file(folder / f"{plot.name}.png", plot.png)
    for data in report.data_sets if inner and isinstance(report, Profile) else ():
        write_report(data.run, directory / data.directory, f"{name}: {data.name}" if name else "")
    return write_file(directory / PAGE, report_page(report, plots, name))


def write_tables(report: Report, directory: Path) -> Path:
    """Write ``table.csv`` with every column, and ``table.tex`` and ``table.md``, which is returned.

    Of a run on several data sets: ``profile.csv`` and ``profile.md``.
    """
    if isinstance(report, Profile):
        name, frame = "profile", report.table
    else:
        name, frame = "table", report.table.frame
    write_file(directory / f"{name}.csv", frame.to_csv(index=False))
    if name == "table":
        write_file(directory / "table.tex", report.text("latex_booktabs") + "\n")
    parts = [report.text("github"), line(" ".join(report.answer)), bullets(map(line, report.notes))]
    return write_file(directory / f"{name}.md", "\n\n".join(filter(None, parts)) + "\n")


def make_plots(run: RunReport) -> list[Plot]:
    """Those of NAMES that the records have enough data for."""
    from zoo.report.plots.curves import epoch_plots
    from zoo.report.plots.front import front_plots
    from zoo.report.plots.plot import styled

    with styled():
        return [*front_plots(run), *epoch_plots(run)]


def write_scale(records: Sequence[Record], directory: Path) -> None:
    """Write costs at several lengths: ``scale.csv``, ``.md``, ``.svg`` and ``.png``."""
    from zoo.report.plots.curves import scale_plot
    from zoo.report.tables.scaling_table import as_text, scale_table

    plot = scale_plot(records)
    write_file(directory / "scale.csv", scale_table(records).to_csv(index=False))
    write_file(directory / "scale.md", as_text(records, "github") + "\n")
    write_file(directory / "scale.svg", plot.svg)
    write_file(directory / "scale.png", plot.png)


def write_file(file: Path, content: str | bytes) -> Path:
    """Write a whole file, whose path is returned: never does a reader find a part of it.

    Raises WriteError as ``zoo.files.replacing`` does.
    """
    with replacing(file) as unfinished:
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)
    return file
