"""What is made of a run's records: text for a terminal, JSON, files, and the value of a bench."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from zoo.files import replacing
from zoo.report.profile import Profile, read_profile
from zoo.report.run_report import RunReport
from zoo.report.tables.text import bullets, line
from zoo.sweep.records import Record, read_run

if TYPE_CHECKING:
    from zoo.report.plots.plot import Plot

PLOTS = "plots"  # the folder in a run's directory
NAMES = ("pareto-speed", "epochs")  # of plots
PAGE = "report.html"
# Of a BenchResult's table, after the choice on each axis.
COLUMNS = (
    *("data", "baseline", "metric", "score", "low", "high", "rank", "seeds", "params"),
    *("train_tokens_per_s", "train_ratio", "infer_tokens_per_s", "infer_ratio", "latency_ms"),
    *("peak_memory_mib", "status", "reason"),
)
Report: TypeAlias = RunReport | Profile


@dataclass(frozen=True, repr=False)
class BenchResult:
    """The outcome of a run. details: everything that is known. directory: of all that is written.

    ``table``, ``runs`` and ``best`` call a row by its whole name.
    """

    details: Report
    directory: Path

    @property
    def report(self) -> Path:
        """The page that a browser shows."""
        return self.directory / PAGE

    @property
    def data_sets(self) -> dict[str, RunReport]:
        """What is known of each data set, by its name."""
        if isinstance(self.details, Profile):
            return {data.name: data.run for data in self.details.data_sets}
        return {str(r.config["data"]["name"]): self.details for r in self.details.records[-1:]}

    @property
    def table(self) -> pd.DataFrame:
        """A line for each row on each data set, in the same columns whatever the run.

        score, with the ends of its 95% interval, is of the ``metric`` that ranks rows. What is
        unknown is NaN.
        """
        lines, axes = list[dict[str, Any]](), dict[str, None]()
        for data, run in self.data_sets.items():
            axes |= dict.fromkeys(run.axis_names)
            key = run.metric.name
            score = f"{key}_median" if run.learning else f"{key}_mean"
            ends = {"score": score, "low": f"{key}_low", "high": f"{key}_high"}
            for values in run.lines:
                scores = {name: values.get(column) for name, column in ends.items()}
                lines.append({**values, **scores, "data": data, "metric": key})
        frame = pd.DataFrame(lines, columns=["name", *axes, *COLUMNS]).set_index("name")
        return frame.astype({name: "float" for name in frame if frame[name].isna().all()})

    @property
    def runs(self) -> pd.DataFrame:
        """A line for each training that counts: row, seed, every score, and seconds.

        A training that was repeated is there once, as it ended last, and a deterministic fit is
        there once, whatever the seeds.
        """
        lines = []
        for data, run in self.data_sets.items():
            learned = ("lr", "solved", "examples_seen") if run.learning else ()
            for row in run.rows:
                trained = [*row.failed, *row.trained.values(), *row.other_rates]
                records = {record.key: record for record in trained}
                lines += [
                    {
                        "data": data,
                        "row": row.name,
                        "seed": record.seed,
                        **{m.name: record.metrics.get(m.name) for m in run.metrics},
                        **{n: (record.config["training"] | record.metrics).get(n) for n in learned},
                        "seconds": record.metrics.get("train_seconds"),
                        "status": record.status,
                    }
                    for record in records.values()
                    if record.seed is not None
                ]
        return pd.DataFrame(lines)

    @property
    def best(self) -> str | None:
        """The row that the answer calls the best, on several data sets the one over all of them."""
        if isinstance(self.details, Profile):
            return next(iter(self.details.names), None)
        return self.details.best.name if self.details.best else None

    @property
    def answer(self) -> str:
        """What the table says, in at most four lines."""
        return "\n".join(self.details.answer)

    def __repr__(self) -> str:
        return f"{report_text(self.details)}\nReport: {self.report}"


def read_result(directory: Path, metric: str = "") -> BenchResult:
    """The outcome of the run in a directory, which may be on several data sets.

    metric: as of ``EvaluatedRun``. Raises ZooError where there are no records that can be read, or
    no such metric.
    """
    profile = read_profile(directory, metric)
    return BenchResult(profile or RunReport(read_run(directory), metric), directory)


def report_text(report: Report, width: int | None = None) -> str:
    """What a terminal shows: the table and the answer.

    width: of the terminal, in characters; None for the whole table.
    """
    return f"{report.text(width=width)}\n\n{answer_text(report)}"


def scores_text(report: RunReport) -> str:
    """What is shown while costs are measured: the scores and what they say.

    Columns are left out where stderr, where it is shown, is a terminal without room for them.
    """
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    table = report.text(width=shutil.get_terminal_size().columns if is_terminal else None)
    return "\n".join(["", table, "", *report.answer[:2], "Speed and memory follow.", ""])


def answer_text(report: Report) -> str:
    """The answer, and remarks on the data, in at most four lines; of a profile the notes."""
    if isinstance(report, Profile):
        return "\n".join([" ".join(report.answer), *report.notes])
    return "\n".join(filter(None, [*report.answer, report.caution]))


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

    write_tables(report, directory)
    plots = make_plots(report)
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
        name, frame = "profile", pd.DataFrame(report.lines)
    else:
        name, frame = "table", report.table.frame
    write_file(directory / f"{name}.csv", frame.to_csv(index=False))
    if name == "table":
        write_file(directory / "table.tex", report.text("latex_booktabs") + "\n")
    parts = [report.text("github"), line(" ".join(report.answer)), bullets(map(line, report.notes))]
    return write_file(directory / f"{name}.md", "\n\n".join(filter(None, parts)) + "\n")


def make_plots(report: Report) -> list[Plot]:
    """Those of NAMES that the records have enough data for; of several data sets the profile's."""
    from zoo.report.plots.curves import epoch_plots
    from zoo.report.plots.front import front_plots
    from zoo.report.plots.plot import styled
    from zoo.report.plots.profile_plot import profile_plot

    if isinstance(report, Profile):
        return [profile_plot(report)]
    if report.learning:  # solved or not is no point on a front, and curves end where it is solved
        return []
    with styled():
        return [*front_plots(report), *epoch_plots(report)]


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
