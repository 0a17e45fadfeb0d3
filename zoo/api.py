"""What ``import zoo`` offers: ``zoo.bench(...)``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.registry import loading
from zoo.sweep.make_request import make_request
from zoo.sweep.progress import Progress, Silent
from zoo.sweep.run import run

if TYPE_CHECKING:
    import pandas as pd


def bench(
    attention: str | Sequence[str] = "fused",
    pe: str | Sequence[str] = "rope",
    *,
    task: str = "classify",
    data: str | Path | None = None,
    on: str = "local",
    out: str | Path | None = None,
    fresh: bool = False,
    plugins: str | Sequence[str] = (),
    progress: Progress | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Train and measure every combination; the columns are those of ``table.csv``.

    attention, pe and the other axes (norm, ffn, block, pool): a name, a comma list or a list.
    task: a registered task. on: a registered executor. plugins: single-file plug-ins. options:
    everything that ``zoo bench`` takes, with underscores: ``dim=128, epochs=3, seeds=5``. Raises
    ZooError for bad usage or data; cells that fail are rows with their status and reason.
    """
    from zoo.report.tables.table import make_table

    files = [plugins] if isinstance(plugins, str) else list(plugins)
    loaded = loading.load(files)
    request = make_request(
        {
            "task": task,
            "data": data,
            "attention": attention,
            "pe": pe,
            "plugins": files,
            **options,
        },
        loaded.registry,
    )
    outcome = run(
        request,
        loaded,
        progress or Silent(),
        on=on,
        out=Path(out) if out is not None else None,
        fresh=fresh,
        finished=write_tables_of,
    )
    return make_table(outcome.records)


def write_tables_of(plan: Any, records: Sequence[Any], directory: Path) -> None:
    """Write the tables of what has been recorded; the records themselves are there already."""
    from zoo.report.run_report import RunReport
    from zoo.report.write import write_tables

    if records:
        write_tables(RunReport(records), directory)
