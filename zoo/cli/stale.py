"""``zoo stale``: records whose code has changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import json_option, plugin_option, print_json
from zoo.cli.table import printable
from zoo.errors import ZooError, counted


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
    from zoo.sweep.records import FILE, SCALE_FILE, RecordFile

    single = {Path(plugin).name: Path(plugin) for plugin in plugins}
    for plugin in single.values():
        if not plugin.is_file():
            raise ZooError(f"--plugin {plugin}: no such file")
    listed = []
    for directory in directories:
        if not directory.is_dir():
            raise ZooError(f"{directory}: no such directory")
        files = [file for name in (FILE, SCALE_FILE) for file in sorted(directory.rglob(name))]
        if not files:
            raise ZooError(f"{directory}: no {FILE} and no {SCALE_FILE} in it")
        for file in files:
            rows = stale_rows(RecordFile(file.parent, file.name).read(), single)
            listed += [
                {"file": str(file), "row": row, "records": dict(kinds), "changes": changes}
                for (row, changes), kinds in sorted(rows.items(), key=lambda one: one[0][::-1])
            ]
    if as_json:
        print_json(listed)
    else:
        _print(listed)
    return 1 if listed else 0


def _print(listed: Sequence[Mapping[str, Any]]) -> None:
    """The rows below their file and what has changed for them."""
    below: tuple[str, ...] = ()
    for each in listed:
        if below != (below := (each["file"], *each["changes"])):
            click.echo(printable(f"{each['file']}: {', '.join(each['changes'])}"))
        records = ", ".join(f"{count} {kind}" for kind, count in each["records"].items())
        click.echo(printable(f"    {each['row']}: {records}"))
    count = sum(sum(each["records"].values()) for each in listed)
    click.echo(f"Stale: {counted(count, 'record')}." if listed else "No record is stale.")
