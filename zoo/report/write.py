"""Everything that is made of a run's records: tables, plots and the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from zoo.report.tables.latex import as_latex
from zoo.report.tables.table import caption, write_tables
from zoo.sweep.records import Record

PLOTS = "plots"  # the folder in a run's directory
PAGE = "report.html"


def write_report(records: Sequence[Record], directory: Path, reference: str = "") -> pd.DataFrame:
    """Write all that is made of records into an existing directory, and return the table.

    ``table.csv``, ``table.md``, ``table.tex``, ``report.html``, and under ``plots/`` those plots,
    as PNG and SVG, that there are records enough for; an older one that there are not is deleted.
    The same records give the same bytes, here and anywhere else with the same versions.
    reference: the cell that others are held against.
    """
    from zoo.report.html.report_page import report_page
    from zoo.report.plots.draw_all import NAMES, make_plots
    from zoo.report.tables.report_data import make_facts

    table = write_table_files(records, directory, reference)
    facts = make_facts(records, table, reference)
    plots = make_plots(facts)
    folder = directory / PLOTS
    folder.mkdir(exist_ok=True)
    for plot in plots:
        write_file(folder / f"{plot.name}.svg", f"{plot.svg}\n")
        write_file(folder / f"{plot.name}.png", plot.png)
    for name in set(NAMES) - {plot.name for plot in plots}:
        for suffix in (".png", ".svg"):
            folder.joinpath(f"{name}{suffix}").unlink(missing_ok=True)
    write_file(directory / PAGE, report_page(facts, plots))
    return table


def write_table_files(
    records: Sequence[Record], directory: Path, reference: str = ""
) -> pd.DataFrame:
    """Write ``table.csv``, ``table.md`` and ``table.tex`` alone, which is quick."""
    table = write_tables(records, directory, reference)
    write_file(directory / "table.tex", as_latex(table, caption(records, table).splitlines()))
    return table


def write_file(file: Path, content: str | bytes) -> None:
    """Write a file whole: who reads it meanwhile finds the old one."""
    unfinished = file.with_name(f".{file.name}.tmp")
    unfinished.write_bytes(content.encode() if isinstance(content, str) else content)
    unfinished.replace(file)
