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

    from zoo.sweep.plan import Plan
    from zoo.sweep.records import Record


def bench(
    attention: str | Sequence[str] = "fused",
    pe: str | Sequence[str] = "rope",
    *,
    task: str = "classify",
    data: str | Path | None = None,
    on: str = "local",
    out: str | Path | None = None,
    fresh: bool = False,
    collect: bool = False,
    plugins: str | Path | Sequence[str | Path] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Train and measure every combination; the columns are those of ``table.csv``.

    ``attrs["answer"]`` holds what the table says, in a few sentences.

    attention, pe and the other axes (norm, ffn, block, pool): a name, a comma list or a list.
    task: a registered task. on: a registered executor. out: the directory of records and tables,
    by default one under ``runs``. fresh: run again what is already there; collect: run nothing,
    only read it. plugins: single-file plug-ins. progress: where the run reports its progress; by
    default nowhere. options: everything else that ``zoo bench`` takes, with underscores:
    ``dim=128, epochs=3, seeds=5``. Raises ZooError for bad usage or data; cells that fail are rows
    with their status and reason.
    """
    from zoo.errors import ZooError
    from zoo.report.run_report import RunReport

    if fresh and collect:
        raise ZooError("fresh runs everything again and collect runs nothing: use one of them")
    files = [plugins] if isinstance(plugins, str | Path) else plugins or ()
    paths = [str(file) for file in files]
    loaded = loading.load(paths)
    axes = {"attention": attention, "pe": pe}
    request = make_request(
        {"task": task, "data": data, "plugins": paths, **axes, **options}, loaded.registry
    )
    outcome = run(
        request,
        loaded,
        progress or Silent(),
        on=on,
        out=Path(out) if out is not None else None,
        fresh=fresh,
        collect=collect,
        finished=write_tables_of,
    )
    report = RunReport(outcome.records)
    report.table.attrs["answer"] = report.answer
    return report.table


def write_tables_of(plan: Plan, records: Sequence[Record], directory: Path) -> None:
    """Write the tables of what has been recorded; the records themselves are there already."""
    from zoo.report.run_report import RunReport
    from zoo.report.write import write_tables

    if records:
        write_tables(RunReport(records), directory)
