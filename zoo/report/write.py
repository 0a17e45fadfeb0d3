"""Writes what is made of a run's records: text for a terminal, JSON, tables, plots and the page."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from zoo.files import replacing
from zoo.report.profile import Profile
from zoo.report.profile_text import (
    PLOT_NAMES,
    as_text,
    effects_table,
    mark_notes,
    profile_answer,
    profile_notes,
    scores_table,
    visible_notes,
)
from zoo.report.run_report import RunReport
from zoo.report.tables.effects_text import effects_data
from zoo.report.tables.table import group_text
from zoo.report.tables.text import bullets, line
from zoo.sweep.records import Record

if TYPE_CHECKING:
    from pandas import DataFrame

    from zoo.report.plots.plot import Plot

PLOTS = "plots"  # the folder in a run's directory
NAMES = ("pareto-speed", "pareto-memory", "effects", "epochs")  # of plots
PAGE = "report.html"
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # what one begins with


def report_text(report: RunReport | Profile, width: int | None = None) -> str:
    """What a terminal shows: the table, or of a profile both tables, and the answer.

    width: of the terminal, in characters; None for the whole table.
    """
    if isinstance(report, Profile):
        parts = [as_text(scores_table(report)), as_text(effects_table(report))]
    else:
        parts = [report.table.text(width=width), group_text(report)]
    return "\n\n".join(filter(None, [*parts, answer_text(report)]))


def scores_text(report: RunReport) -> str:
    """What is shown while costs are measured: the scores and what they say.

    Columns are left out where stderr, where it is shown, is a terminal without room for them.
    """
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    table = report.table.text(width=shutil.get_terminal_size().columns if is_terminal else None)
    return "\n".join(["", table, "", *report.answer[:2], "Speed and memory follow.", ""])


def answer_text(report: RunReport | Profile) -> str:
    """The answer, in at most four lines, and at most two notes that it depends on.

    Of a profile: the answer, what its marks mean, what it could have seen. All notes are in
    ``table.md`` or ``profile.md``, on the page and in JSON.
    """
    if not isinstance(report, Profile):
        return "\n".join([*report.answer, *report.cautions])
    answer, marks = profile_answer(report), mark_notes(report)
    said = [" ".join(answer), " ".join(marks), *visible_notes(report)]
    return "\n".join(filter(None, said))


def report_data(report: RunReport | Profile, directory: Path) -> dict[str, Any]:
    """The report as plain values, for JSON: its rows, as in ``table.csv``, answer, notes, effects.

    Of a run on several data sets: a line for each row on each of them, and the answer.
    """
    data: dict[str, Any] = {"directory": str(directory)}
    if isinstance(report, Profile):
        return data | {"scores": report.lines, "answer": profile_answer(report)}
    data |= {"rows": report.lines, "answer": report.answer, "notes": report.notes}
    return data | (effects_data(report.effects) if report.effects else {})


def write_report(report: RunReport | Profile, directory: Path, name: str = "") -> Path:
    """Write tables, plots and page into an existing directory; the page is returned.

    name: of the run, for the page, whose title is by default what was compared. Plots go to
    ``plots/``, as PNG and SVG, those that there are enough records for; older files of the others
    are deleted. Of a run on several data sets, also the report of each is written. The same records
    give the same bytes on every machine with the same versions of the libraries. Raises WriteError
    where a file cannot be written.
    """
    from zoo.report.html.report_page import report_page

    if isinstance(report, Profile):
        for data in report.data_sets:
            own = f"{name}: {data.name}" if name else ""
            write_report(data.run, directory / data.directory, own)
        return write_profile(report, directory, name)
    write_tables(report, directory)
    plots = make_plots(report)
    write_plots(plots, NAMES, directory / PLOTS)
    return write_file(directory / PAGE, report_page(report, plots, name))


def write_profile(profile: Profile, directory: Path, name: str) -> Path:
    """Write tables, plots and page of the profile, without the reports of its data sets."""
    from zoo.report.html.report_page import profile_page
    from zoo.report.plots.profile_plot import profile_plot

    write_tables(profile, directory)
    plots = [profile_plot(profile)]
    write_plots(plots, PLOT_NAMES, directory / PLOTS)
    return write_file(directory / PAGE, profile_page(profile, plots, name))


def write_tables(report: RunReport | Profile, directory: Path) -> Path:
    """Write ``table.csv`` with every column, and ``table.tex`` and ``table.md``, which is returned.

    Of a run on several data sets: ``profile.csv`` and ``profile.md``.
    """
    if isinstance(report, Profile):
        parts = [
            "# Profile",
            line(" ".join(profile_answer(report))),
            as_text(scores_table(report), "github"),
            bullets([line(note) for note in profile_notes(report)]),
        ]
        if effects := as_text(effects_table(report), "github"):
            parts += ["## Effects", effects]
        links = [f"[{line(d.name)}]({quote(d.directory)}/table.md)" for d in report.data_sets]
        parts += ["## Data sets", bullets(links)]
        write_file(directory / "profile.csv", _csv(report.table))
        return write_file(directory / "profile.md", "\n\n".join(parts) + "\n")
    answer, notes = line(" ".join(report.answer)), bullets([line(note) for note in report.notes])
    parts = [report.table.text("github"), group_text(report, "github"), answer, notes]
    write_file(directory / "table.csv", _csv(report.table.frame))
    write_file(directory / "table.tex", report.table.latex([*report.answer, *report.notes]))
    return write_file(directory / "table.md", "\n\n".join(filter(None, parts)) + "\n")


def make_plots(run: RunReport) -> list[Plot]:
    """Those of NAMES that the records have enough data for."""
    from zoo.report.plots.curves import epoch_plots
    from zoo.report.plots.forest import forest_plots
    from zoo.report.plots.front import front_plots
    from zoo.report.plots.plot import styled

    with styled():
        return [*front_plots(run), *forest_plots(run.effects), *epoch_plots(run)]


def write_plots(plots: Sequence[Plot], names: Sequence[str], folder: Path) -> None:
    """Write plots as PNG and SVG; older files of other plots of these names are deleted."""
    folder.mkdir(exist_ok=True)
    for plot in plots:
        write_file(folder / f"{plot.name}.svg", f"{plot.svg}\n")
        write_file(folder / f"{plot.name}.png", plot.png)
    for name in set(names) - {plot.name for plot in plots}:
        for suffix in (".png", ".svg"):
            folder.joinpath(f"{name}{suffix}").unlink(missing_ok=True)


def write_scale(records: Sequence[Record], directory: Path) -> None:
    """Write costs at several lengths: ``scale.csv``, ``.md``, ``.svg`` and ``.png``."""
    from zoo.report.plots.curves import scale_plot
    from zoo.report.tables.scaling_table import as_text, scale_table

    write_file(directory / "scale.csv", _csv(scale_table(records).frame))
    write_file(directory / "scale.md", as_text(records, "github") + "\n")
    plot = scale_plot(records)
    write_file(directory / "scale.svg", plot.svg)
    write_file(directory / "scale.png", plot.png)


def _csv(table: DataFrame) -> str:
    """As CSV; a quote stands before what a spreadsheet would run as a formula.

    https://owasp.org/www-community/attacks/CSV_Injection
    """

    def harmless(value: Any) -> Any:
        if isinstance(value, str):
            value = value.replace("\r", " ")  # which begins a row, and is not quoted
        return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value

    return table.map(harmless).to_csv(index=False)


def write_file(file: Path, content: str | bytes) -> Path:
    """Write a whole file, whose path is returned: never does a reader find a part of it.

    Raises WriteError as ``zoo.files.replacing`` does.
    """
    whole = content.encode() if isinstance(content, str) else content
    with replacing(file) as unfinished:
        unfinished.write_bytes(whole)
    return file
