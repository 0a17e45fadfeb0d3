"""The columns of a report's table, for the page that explains them."""

from __future__ import annotations

from bench.publish.markdown import grid
from zoo.report.run_report import RunReport
from zoo.report.tables.text import code, line


def columns_table() -> str:
    """Of each column its name for a reader, its key in ``table.csv`` and what it holds."""
    return grid(
        [
            {
                "column": line(column.head),
                "in table.csv": code(column.key),
                "holds": line(column.help),
            }
            for column in RunReport([]).table.columns
        ]
    )
