"""Options and output that several commands share.

Tables are cut to fit on a terminal, and complete in a pipe.
"""

from __future__ import annotations

import functools
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from zoo.registry.loading import Zoo

LOADED = "zoo.loaded"  # the key of the loaded plug-ins in a click context
SEED = click.IntRange(0, 2**32 - 1)  # of zoo.config.request.Seed

# Adds --plugin FILE; the command gets ``plugins: tuple[str, ...]``.
plugin_option = click.option(
    "--plugin",
    "plugins",
    metavar="FILE",
    multiple=True,
    help="Also register the components of this Python file; may be repeated.",
)
# Adds --metric NAME; the command gets ``metric: str``.
metric_option = click.option(
    "--metric",
    metavar="NAME",
    default="",
    help="The metric that ranks rows, such as macro_f1.  [default: that of the last zoo bench]",
)
# Adds --json; the command gets ``as_json: bool``.
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def several(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One decorator that adds all of these options, in this order of the help text."""
    return lambda command: functools.reduce(lambda c, add: add(c), reversed(decorators), command)


def load_zoo(plugins: Sequence[str] = ()) -> Zoo:
    """All components, and those of the files; warnings go to stderr.

    In a RequestCommand these are the plug-ins that its arguments name, loaded already.
    """
    import zoo.registry.loading

    context = click.get_current_context(silent=True)
    loaded = context.meta.get(LOADED) if context is not None else None
    loaded = loaded or zoo.registry.loading.load(plugins)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    return loaded


def print_json(value: object, **settings: Any) -> None:
    """Print a value as JSON; settings: of json.dumps."""
    usual = {"indent": 2, "ensure_ascii": False, "allow_nan": False}
    click.echo(json.dumps(value, **{**usual, **settings}))


def terminal_width() -> int | None:
    """Characters in a line of the terminal; None where stdout is none, and nothing is left out."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_table(
    rows: Sequence[Sequence[str]], header: Sequence[str], *, cut: int | None = None
) -> None:
    """Print rows under a header, one line each.

    cut: the column that is cut on a terminal too narrow for the table.
    """
    table = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    if cut is not None and (columns := terminal_width()):
        spare = columns - sum(widths) - 2 * (len(widths) - 1)
        widths[cut] = max(len(header[cut]), widths[cut] + min(0, spare))
        for row in table:
            if len(row[cut]) > widths[cut]:
                row[cut] = row[cut][: widths[cut] - 1] + "…"
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def printable(text: str) -> str:
    """The text as one printable line: text of a plug-in must not move the cursor."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
