"""``zoo results``: a directory of published results, made again from its records."""

from __future__ import annotations

from pathlib import Path

import click

from zoo.cli.options import Place
from zoo.errors import ZooError


@click.command()
@click.argument("directory", metavar="[DIR]", default="results", type=click.Path(path_type=Path))
@click.option(
    "--suites",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where the suites are that made the results (default: bench/suites beside DIR).",
)
@click.option(
    "--out", metavar="DIR", type=Place(path_type=Path), help="Write there (default: in DIR)."
)
def results(directory: Path, suites: Path | None, out: Path | None) -> None:
    """Make all tables, plots and pages under DIR again from the records there, and an overview.

    A suite says in its [published] table which directory it made, and what stands on its page.
    """
    from bench.publish.publish import publish

    if not directory.is_dir():
        raise ZooError(f"{directory}: no such directory")
    beside = directory.resolve().parent / "bench" / "suites"
    if suites is None and beside.is_dir():
        suites = beside
    made = publish(directory, suites, out)
    click.echo("\n".join(str(path) for path in made.directories))
    for suite, place in made.missing:
        click.echo(f"notice: suite {suite} names {place}: no records there", err=True)
