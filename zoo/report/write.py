"""Writes what is made of a run's records: tables, plots and the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.errors import WriteError
from zoo.report.run_report import RunReport
from zoo.report.tables.group_table import group_lines
from zoo.report.tables.readable import as_latex, as_text
from zoo.report.tables.text import bullets, line
from zoo.sweep.records import Record

if TYPE_CHECKING:
    from zoo.report.plots.plot import Plot

PLOTS = "plots"  # the folder in a run's directory
NAMES = ("pareto-speed", "pareto-memory", "grid", "effects", "epochs", "by-group")  # of plots
PAGE = "report.html"


def write_report(run: RunReport, directory: Path, name: str = "") -> None:
    """Write tables, plots and page into an existing directory. name: of the run, for the page.

    ``table.csv``, ``table.md``, ``table.tex``, ``report.html``, and under ``plots/``, as PNG and
    SVG, the plots that there are enough records for; older files of the others are deleted. The
    same records give the same bytes on every machine with the same versions of the libraries.
    Raises WriteError where a file cannot be written.
    """
    from zoo.report.html.report_page import report_page

    write_tables(run, directory)
    plots = make_plots(run)
    write_plots(plots, NAMES, directory / PLOTS)
    write_file(directory / PAGE, report_page(run, plots, name))


def make_plots(run: RunReport) -> list[Plot]:
    """Those of NAMES that the records have enough data for."""
    from zoo.report.plots.by_group import group_plots
    from zoo.report.plots.epochs import epoch_plots
    from zoo.report.plots.forest import forest_plots
    from zoo.report.plots.front import front_plots
    from zoo.report.plots.heat import heat_plots
    from zoo.report.plots.plot import styled

    with styled():
        return [
            *front_plots(run),
            *heat_plots(run),
            *forest_plots(run.effects),
            *epoch_plots(run),
            *group_plots(run),
        ]


def write_plots(plots: Sequence[Plot], names: Sequence[str], folder: Path) -> None:
    """Write plots as PNG and SVG; older files of other plots of these names are deleted."""
    folder.mkdir(exist_ok=True)
    for plot in plots:
        write_file(folder / f"{plot.name}.svg", f"{plot.svg}\n")
        write_file(folder / f"{plot.name}.png", plot.png)
    for name in set(names) - {plot.name for plot in plots}:
        for suffix in (".png", ".svg"):
            folder.joinpath(f"{name}{suffix}").unlink(missing_ok=True)


def write_tables(run: RunReport, directory: Path) -> None:
    """Write ``table.csv`` with every column, and ``table.md`` and ``table.tex`` for readers."""
    notes = bullets([line(note) for note in run.notes])
    said = f"{line(' '.join(run.answer))}\n\n" if run.answer else ""
    write_file(directory / "table.csv", run.table.to_csv(index=False))
    groups = "".join(f"{one}\n" for one in group_lines(run, "github"))
    table = f"{as_text(run.table, 'github')}\n\n{groups}{said}{notes}\n"
    write_file(directory / "table.md", table)
    write_file(directory / "table.tex", as_latex(run.table, [*run.answer, *run.notes]))


def write_scale(records: Sequence[Record], directory: Path) -> None:
    """Write ``scale.csv``, ``scale.md``, ``scale.svg`` and ``scale.png`` of ``zoo scale``."""
    from zoo.report.plots.scaling_plot import scale_plot
    from zoo.report.tables.scaling_table import as_text, make_frame

    write_file(directory / "scale.csv", make_frame(records).to_csv(index=False))
    write_file(directory / "scale.md", as_text(records, "github") + "\n")
    plot = scale_plot(records)
    write_file(directory / "scale.svg", plot.svg)
    write_file(directory / "scale.png", plot.png)


def write_file(file: Path, content: str | bytes) -> None:
    """Write a whole file: a reader finds the old content or the new, never a part.

    Raises WriteError, and leaves the old file and no temporary one, where the disk is full.
    """
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        temporary.replace(file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise WriteError(f"cannot write {file}: {error.strerror}") from error
