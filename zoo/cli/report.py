"""``zoo report``: tables, plots and effects from records alone, at any later time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import (
    Place,
    json_option,
    metric_option,
    print_json,
    terminal_width,
    wide_option,
)
from zoo.errors import ZooError
from zoo.registry.naming import split_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zoo.report.profile import Profile
    from zoo.sweep.records import Record


@click.command()
@click.argument(
    "directories", metavar="DIR [DIR…]", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--effects", is_flag=True, help="Print the effect of each component, one per line.")
@click.option(
    "--of",
    "component",
    metavar="NAME",
    default="",
    help="With --effects: what this component does, against each other choice it is compared with.",
)
@click.option(
    "--only",
    metavar="AXIS=NAMES",
    multiple=True,
    help="With --effects: use only these choices on an axis; repeat it for several axes.",
)
@click.option(
    "--reference", metavar="CELL", default="", help="The cell others are compared with: fused+sin."
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
@wide_option
@json_option
def report(
    directories: tuple[Path, ...],
    effects: bool,
    component: str,
    only: tuple[str, ...],
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
    zoo report runs/bbc-news-1a2b3c4d --effects
    zoo report runs/bbc-news-1a2b3c4d --effects --of rope
    zoo report runs/bbc-news-1a2b3c4d --effects --only attention=fused,naive
    """
    from zoo.report.profile import Profile
    from zoo.report.profile_text import profile_summary, write_profile, write_whole_profile
    from zoo.report.run_report import RunReport
    from zoo.report.stats.effects import make_effects
    from zoo.report.tables.effects_text import effects_data, effects_text
    from zoo.report.tables.fitted import fitted_text
    from zoo.report.tables.group_table import group_lines
    from zoo.report.tables.plain_data import profile_data, run_data
    from zoo.report.write import PAGE, write_report, write_tables

    if component and not effects:
        raise ZooError("--of names a component of --effects: use both")
    if only and not effects:
        raise ZooError("--only restricts the grid of --effects: use both")
    restricted = dict(_restriction(one) for one in only)
    reports: list[dict[str, Any]] = []
    runs = _runs(directories, out, metric)
    for number, (directory, records) in enumerate(runs):
        if isinstance(records, Profile):
            if tables_only:
                write_profile(records, directory)
            else:
                write_whole_profile(records, directory, directory.resolve().name)
            if as_json:
                reports.append(profile_data(records, directory))
            else:
                click.echo(profile_summary(records))
            continue
        run = RunReport(records, reference, metric)
        if tables_only:
            write_tables(run, directory)
        else:
            write_report(run, directory, directory.resolve().name)
        rows = run.recorded_rows
        found = make_effects(rows, run.reference, restricted, component) if effects else None
        if as_json:
            reports.append(run_data(run, directory) | (effects_data(found) if found else {}))
            continue
        if len(runs) > 1:
            click.echo(f"{'' if number == 0 else chr(10)}{directory}\n")
        text = fitted_text(run.table, None if wide else terminal_width())
        table = "\n".join([text, "", *group_lines(run), *run.answer, "", *run.notes])
        click.echo(effects_text(found) if found else table)
        if not tables_only:
            click.echo(f"Page: {directory / PAGE}")
    if as_json:
        print_json(reports)


def _runs(
    directories: tuple[Path, ...], out: Path | None, metric: str
) -> Sequence[tuple[Path, list[Record] | Profile]]:
    """Where to write, and the records, or the profile, that the report is made from."""
    from zoo.report.profile import Profile, read_profile
    from zoo.report.read import read_run
    from zoo.report.tables.same_settings import refuse_differing

    runs = [
        (directory, read_profile(directory) or read_run(directory)) for directory in directories
    ]
    if out is None:
        return runs
    combined: list[Record] = []
    for directory, found in runs:
        if isinstance(found, Profile):
            raise ZooError(f"{directory} holds several data sets: --out combines runs on one")
        combined += found
    if len(runs) > 1:
        refuse_differing(combined, directories)
    out.mkdir(parents=True, exist_ok=True)
    return [(out, combined)]


def _restriction(text: str) -> tuple[str, list[str]]:
    """``attention=fused,naive`` as axis and choices."""
    axis, equals, names = text.partition("=")
    choices = list(split_list(names))
    if not equals or not choices:
        raise ZooError(f"--only {text}: not AXIS=NAME,NAME, such as attention=fused,naive")
    return axis.strip(), choices
