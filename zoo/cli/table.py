"""Aligned columns: cut to fit and coloured on a terminal, complete and plain in a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from zoo.cli.options import terminal_width

STYLES: dict[str, dict[str, Any]] = {
    **{key: {"fg": "green"} for key in ("ok", "passed")},
    **{key: {"fg": "yellow"} for key in ("partial", "clash", "skipped", "xfailed")},
    "blocked": {"dim": True},
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
