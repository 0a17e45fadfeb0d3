"""Everything that is made of the records of ``zoo scale``, into their directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zoo.report.plots.scaling_plot import scale_plot
from zoo.report.tables.scaling_table import as_text, make_frame
from zoo.report.write import write_file
from zoo.sweep.records import Record


def write_scale(records: Sequence[Record], directory: Path) -> None:
    """``scale.csv``, ``scale.md``, ``scale.svg`` and ``scale.png``; the same bytes every time."""
    write_file(directory / "scale.csv", make_frame(records).to_csv(index=False))
    write_file(directory / "scale.md", as_text(records, "github") + "\n")
    plot = scale_plot(records)
    write_file(directory / "scale.svg", plot.svg)
    write_file(directory / "scale.png", plot.png)
