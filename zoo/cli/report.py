"""``zoo report``: tables and effects from records alone, at any later time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import Place, json_option
from zoo.errors import ZooError
from zoo.registry.naming import split_list

if TYPE_CHECKING:
    from zoo.sweep.records import Record


@click.command()
@click.argument(
    "directories", metavar="DIR [DIR…]", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--effects", is_flag=True, help="Tell what each component bought, in one line each.")
@click.option(
    "--only",
    metavar="AXIS=NAMES",
    multiple=True,
    help="With --effects: use these choices of an axis alone; for several axes, give it again.",
)
@click.option(
    "--reference", metavar="CELL", default="", help="The cell others are held against: fused+sin."
)
@click.option(
    "--out",
    metavar="DIR",
    type=Place(path_type=Path),
    help="Take the records of all DIRs together, and write there instead.",
)
@click.option(
    "--tables", "tables_only", is_flag=True, help="Write the tables alone: no plots, no page."
)
@json_option
def report(
    directories: tuple[Path, ...],
    effects: bool,
    only: tuple[str, ...],
    reference: str,
    out: Path | None,
    tables_only: bool,
    as_json: bool,
) -> None:
    """Make tables, plots and a page of the records in DIR, and print the table.

    Into DIR go report.html, one page that needs no network; plots/ as PNG and SVG; and table.md,
    table.csv and table.tex (booktabs). The same records give the same bytes. Of several DIRs each
    gets its own, unless --out takes them together; records whose settings or machines differ are
    refused there.

    \b
    zoo report runs/bbc-news-1a2b3c4d
    zoo report runs/seeds-0-to-4 runs/seeds-5-to-9 --out runs/all-seeds
    zoo report runs/bbc-news-1a2b3c4d --effects
    zoo report runs/bbc-news-1a2b3c4d --effects --only attention=fused,naive
    """
    from zoo.report.stats.effects import make_effects
    from zoo.report.tables.rows import make_rows
    from zoo.report.tables.sentences import effects_data, effects_text
    from zoo.report.tables.table import as_text, caption
    from zoo.report.write import PAGE, write_report, write_table_files

    if only and not effects:
        raise ZooError("--only restricts the grid of --effects: use both")
    restricted = dict(_restriction(one) for one in only)
    told: list[dict[str, Any]] = []
    write = write_table_files if tables_only else write_report
    runs = _runs(directories, out)
    for number, (directory, records) in enumerate(runs):
        table = write(records, directory, reference)
        found = make_effects(make_rows(records), reference, restricted) if effects else None
        if as_json:
            lines = caption(records, table).splitlines()
            told.append({"directory": str(directory), "rows": _plain(table), "notes": lines})
            told[-1] |= effects_data(found) if found else {}
            continue
        if len(runs) > 1:
            click.echo(f"{'' if number == 0 else chr(10)}{directory}\n")
        text = f"{as_text(table)}\n\n{caption(records, table)}"
        click.echo(effects_text(found) if found else text)
        if not tables_only:
            click.echo(f"Page: {directory / PAGE}")
    if as_json:
        click.echo(json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False))


def _runs(directories: tuple[Path, ...], out: Path | None) -> list[tuple[Path, list[Record]]]:
    """Where to write, and the records that go there."""
    from zoo.report.read import read_run
    from zoo.report.tables.settings import refuse_differing

    runs = [(directory, read_run(directory)) for directory in directories]
    if out is None:
        return runs
    together = [record for _, records in runs for record in records]
    if len(runs) > 1:
        refuse_differing(together, directories)
    out.mkdir(parents=True, exist_ok=True)
    return [(out, together)]


def _restriction(text: str) -> tuple[str, list[str]]:
    """``attention=fused,naive`` as axis and choices."""
    axis, equals, names = text.partition("=")
    choices = list(split_list(names))
    if not equals or not choices:
        raise ZooError(f"--only {text}: not AXIS=NAME,NAME, such as attention=fused,naive")
    return axis.strip(), choices


def _plain(table: Any) -> list[dict[str, Any]]:
    """Rows as JSON has them: null where there is nothing."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows
