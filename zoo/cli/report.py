"""``zoo report``, ``zoo compare`` and ``zoo stale``: what records say, at any later time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from zoo.cli.options import (
    json_option,
    metric_option,
    plugin_option,
    print_json,
    printable,
    terminal_width,
)
from zoo.errors import ZooError, counted


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@metric_option
@click.option("--tables", is_flag=True, help="Write only the tables: no plots, no page.")
@json_option
def report(directory: Path, metric: str, tables: bool, as_json: bool) -> None:
    """Make tables, plots and a page from the records in DIR, and print the table.

    Written into DIR: report.html, one page that needs no network; plots/ as PNG and SVG; and
    table.md, table.csv and table.tex (booktabs). The same records give the same bytes.

    \b
    zoo report runs/bbc-news-1a2b3c4d
    zoo report runs/grid --metric macro_f1 --tables
    """
    from zoo.config.places import refuse_unwritable
    from zoo.report import write

    if directory.is_dir():
        refuse_unwritable(directory)
    run = write.read_result(directory, metric).details
    written = (write.write_tables if tables else write.write_report)(run, directory)
    if as_json:
        print_json(write.report_data(run, directory))
        return
    click.echo(write.report_text(run, terminal_width()))
    click.echo(f"Report: {written}")


@click.command()
@click.argument("before", metavar="A", type=click.Path(path_type=Path))
@click.argument("after", metavar="B", type=click.Path(path_type=Path))
@metric_option
@json_option
def compare(before: Path, after: Path, metric: str, as_json: bool) -> None:
    """Print how scores changed from the run in directory A to the one in B.

    \b
    zoo compare runs/monday runs/tuesday
    zoo compare results/bbc-news/cpu/grid runs/mine
    zoo compare runs/by-length runs/random
    """
    from zoo.report import compare as comparing
    from zoo.report.run_report import RunReport
    from zoo.sweep.records import read_run

    runs = [RunReport(read_run(side), metric=metric) for side in (before, after)]
    comparison = comparing.compare(*runs)
    write = comparing.comparison_data if as_json else comparing.comparison_text
    written = write(comparison, str(before), str(after))
    print_json(written) if as_json else click.echo(written)


@click.command()
@click.argument(
    "directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@plugin_option
@json_option
def stale(directories: tuple[Path, ...], plugins: tuple[str, ...], as_json: bool) -> int:
    """List the records below directories whose code has changed since.

    A record keeps a hash of every module that its numbers depend on, and the versions of torch and
    tokenizers. It is stale where one of them is another here. The exit status is 1 if a record is
    stale.

    \b
    zoo stale runs
    zoo stale results/bbc-news results/scale --json
    """
    from zoo.sweep.keys import stale_rows
    from zoo.sweep.records import FILE, SCALE_FILE, RecordFile, directories_of

    single = {Path(plugin).name: Path(plugin) for plugin in plugins}
    if missing := [str(plugin) for plugin in single.values() if not plugin.is_file()]:
        raise ZooError(f"--plugin {', '.join(missing)}: no such file")
    listed = list[dict[str, Any]]()
    for directory in directories:
        names = FILE, SCALE_FILE
        files = [
            RecordFile(p, name) for name in names for p in directories_of(directory, name=name)
        ]
        if not files:
            raise ZooError(f"{directory}: no {FILE} and no {SCALE_FILE} in it")
        for file in files:
            rows = stale_rows(file.read(), single)
            listed += [
                {"file": str(file.path), "row": row, "records": dict(kinds), "changes": changes}
                for (row, changes), kinds in sorted(rows.items(), key=lambda item: item[0][::-1])
            ]
    if as_json:
        print_json(listed)
        return 1 if listed else 0
    for each in listed:
        records = ", ".join(f"{count} {kind}" for kind, count in each["records"].items())
        changes = ", ".join(each["changes"])
        click.echo(printable(f"{each['file']}: {each['row']}: {records}: {changes}"))
    count = sum(sum(each["records"].values()) for each in listed)
    click.echo(f"Stale: {counted(count, 'record')}." if listed else "No record is stale.")
    return 1 if listed else 0
