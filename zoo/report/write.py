"""Everything that is made of a run's records: tables, plots and the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from zoo.harness.records import Record
from zoo.report.latex import as_latex
from zoo.report.table import caption, write_tables


def write_report(records: Sequence[Record], directory: Path, reference: str = "") -> pd.DataFrame:
    """Write all that is made of records into an existing directory, and return the table.

    ``table.csv``, ``table.md``, ``table.tex``. The same records give the same bytes, here and
    anywhere else with the same versions. reference: the cell that others are held against.
    """
    table = write_tables(records, directory, reference)
    write_text(directory / "table.tex", as_latex(table, caption(records, table).splitlines()))
    return table


def write_text(file: Path, text: str) -> None:
    """Write a file whole: who reads it meanwhile finds the old one."""
    unfinished = file.with_name(f".{file.name}.tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(file)
