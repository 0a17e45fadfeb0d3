"""Options and output that several commands share.

Tables are cut to fit and coloured on a terminal, complete and plain in a pipe.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.errors import StoppedError

if TYPE_CHECKING:
    from zoo.registry.loading import Zoo
    from zoo.sweep.records import Record

LOADED = "zoo.loaded"  # the key of the loaded plug-ins in a click context


class Place(click.Path):
    """A path to write to. An empty one, as an unset variable in a script gives, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            message = "it is empty; name a directory or a file, or leave the option out"
            self.fail(message, param, ctx)
        return super().convert(value, param, ctx)


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


def terminal_width() -> int | None:
    """Characters in a line of the terminal; None where stdout is none, and nothing is left out."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def several(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One decorator that adds all of these options, in this order of the help text."""
    return lambda command: functools.reduce(lambda c, add: add(c), reversed(decorators), command)


def print_json(value: object, **settings: Any) -> None:
    """Print a value as JSON; settings: of json.dumps."""
    usual = {"indent": 2, "ensure_ascii": False, "allow_nan": False}
    click.echo(json.dumps(value, **{**usual, **settings}))


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


SEED = click.IntRange(0, 2**32 - 1)  # of zoo.config.request.Seed


@contextlib.contextmanager
def resumable(directory: Callable[[], Path], fresh: bool) -> Iterator[None]:
    """Say, where the work inside is interrupted or stopped, where its records are and what goes on.

    directory: of the records, which exists once any work has begun. fresh: whether the command
    begins anew each time.
    """
    try:
        yield
    except (KeyboardInterrupt, StoppedError) as error:
        where = directory()
        said = "nothing was trained yet; the same command begins again"
        if where != Path() and where.is_dir():
            what = "records are" if any(where.glob("*.jsonl")) else "unfinished work is"
            command = "the command without --fresh" if fresh else "the same command"
            said = f"{what} in {os.path.relpath(where)}; {command} goes on from there"
        raise type(error)(f"{error}; {said}" if str(error) else said) from error


def print_traceback(name: str, traceback: str) -> None:
    """With ``zoo --debug``, print the traceback of work that failed; name: which work."""
    debug = click.get_current_context().find_root().params.get("debug")
    if debug and traceback:
        click.echo(f"\n{name}:\n{traceback.rstrip()}", err=True)


def print_tracebacks(records: Sequence[Record]) -> None:
    """With ``zoo --debug``, print the tracebacks of records, each under its row."""
    for record in records:
        seed = "" if record.seed is None else f" seed {record.seed}"
        print_traceback(f"{record.name}{seed}, {record.status}", record.traceback)


STYLES: dict[str, dict[str, Any]] = {
    **{key: {"fg": "green"} for key in ("ok", "passed")},
    **{key: {"fg": "yellow"} for key in ("skipped", "xfailed")},
    "off": {"dim": True},
    "failed": {"fg": "red"},
}


def print_table(
    rows: Sequence[Sequence[str]],
    header: Sequence[str],
    *,
    cut: int | None = None,
    piped: int | None = None,
) -> None:
    """Print rows under a header, one line each; an empty row is an empty line.

    cut: the column that is cut on a terminal too narrow for the table. piped: characters of a line
    in a pipe; None: nothing is cut there.
    """
    table = [[printable(cell) for cell in row] for row in rows]
    full = [row for row in table if row]
    widths = [max(len(row[i]) for row in [list(header), *full]) for i in range(len(header))]
    if cut is not None and (columns := terminal_width() or piped):
        spare = columns - sum(widths) - 2 * (len(widths) - 1)
        widths[cut] = max(len(header[cut]), widths[cut] + min(0, spare))
    click.secho(_line(header, widths), bold=True)
    for row in table:
        click.echo(_line(row, widths))


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = []
    for cell, width in zip(row, widths, strict=False):
        shown = cell if len(cell) <= width else cell[: max(0, width - 1)] + "…"
        styled = click.style(shown, **STYLES[shown]) if shown in STYLES else shown
        cells.append(styled + " " * (width - len(shown)))
    return "  ".join(cells).rstrip()


def printable(text: str) -> str:
    """The text as one printable line: text of a plug-in must not move the cursor."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
