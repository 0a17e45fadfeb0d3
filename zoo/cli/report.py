"""``zoo report``: tables, plots and effects from records alone, at any later time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import Place, json_option, metric_option, print_json, terminal_width
from zoo.errors import ZooError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zoo.report.profile import Profile
    from zoo.report.run_report import RunReport


@click.command()
@click.argument(
    "directories", metavar="DIR [DIR…]", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--reference", metavar="ROW", default="", help="The row others are compared with: fused+sin."
)
@metric_option
@click.option(
    "--out",
    metavar="DIR",
    type=Place(path_type=Path),
    help="Combine the records of all DIRs into one report and write it there.",
)
@click.option(
    "--tables", "tables_only", is_flag=True, help="Write only the tables: no plots, no page."
)
@click.option(
    "--wide", is_flag=True, help="Print all columns, also those that do not fit the terminal."
)
@json_option
def report(
    directories: tuple[Path, ...],
    reference: str,
    metric: str,
    out: Path | None,
    tables_only: bool,
    wide: bool,
    as_json: bool,
) -> None:
    """Make tables, plots and a page from the records in DIR, and print the table.

    Written into DIR: report.html, one page that needs no network; plots/ as PNG and SVG; and
    table.md, table.csv and table.tex (booktabs). The same records give the same bytes. Each of
    several DIRs gets its own report, unless --out combines them; records whose settings or
    machines differ are refused there.

    \b
    zoo report runs/bbc-news-1a2b3c4d
    zoo report runs/seeds-0-to-4 runs/seeds-5-to-9 --out runs/all-seeds
    """
    from zoo.report.write import report_data, report_text, write_report, write_tables

    runs = _reports(directories, out, reference, metric)
    data: list[dict[str, Any]] = []
    for number, (directory, run) in enumerate(runs):
        written = write_tables(run, directory) if tables_only else write_report(run, directory)
        if as_json:
            data.append(report_data(run, directory))
            continue
        if len(runs) > 1:
            click.echo(f"{'' if number == 0 else chr(10)}{directory}\n")
        click.echo(report_text(run, None if wide else terminal_width()))
        click.echo(f"Report: {written}")
    if as_json:
        print_json(data)


def _reports(
    directories: tuple[Path, ...], out: Path | None, reference: str, metric: str
) -> Sequence[tuple[Path, RunReport | Profile]]:
    """Where to write, and what: a report for each directory, or one of all, whose ``out`` is made.

    A run on several data sets is a profile.
    """
    from zoo.config.places import refuse_unwritable
    from zoo.report.comparable import refuse_differing
    from zoo.report.profile import read_profile
    from zoo.report.run_report import RunReport
    from zoo.sweep.complete import read_run

    for place in filter(Path.is_dir, directories) if out is None else [out]:
        refuse_unwritable(place)
    profiles = {directory: read_profile(directory, metric) for directory in directories}
    if out is None:
        return [
            (directory, found or RunReport(read_run(directory), reference, metric))
            for directory, found in profiles.items()
        ]
    for directory, found in profiles.items():
        if found:
            raise ZooError(f"{directory} holds several data sets: --out combines runs on one")
    records = [record for directory in directories for record in read_run(directory)]
    if len(directories) > 1:
        refuse_differing(records, directories)
    run = RunReport(records, reference, metric)
    out.mkdir(parents=True, exist_ok=True)
    return [(out, run)]
