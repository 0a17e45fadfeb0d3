"""Text for tables and pages. What comes from records may contain anything that JSON can hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def plain(text: object, most: int | None = None) -> str:
    """One line of what can be printed, cut off with … beyond ``most`` characters."""
    line = str(text)
    if not line.isprintable():
        line = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in line)
    line = " ".join(line.split())
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"


def from_to(low: int, high: int) -> str:
    """``5``, or ``3 to 5`` where the two differ."""
    return f"{low}" if low == high else f"{low} to {high}"


def ratio_text(value: float | None, apart: object) -> str:
    """A ratio as ``1.25``, or ``~1.02`` where it is not told apart from 1; empty where unknown."""
    return "" if value is None else f"{'' if apart else '~'}{value:.2f}"


def ends(low: float | None, high: float | None) -> str:
    """The interval of a ratio as ``0.98 to 1.06``; empty where there is none."""
    return "" if low is None or high is None else f"{low:.2f} to {high:.2f}"


# What could begin markup inside a line: names of classes and plug-ins may contain anything.
_MARKUP = re.compile(r"([\\`*_\[\]<>|]|&(?=#?\w+;))")


def escaped(text: str) -> str:
    """The text with nothing in it that Markdown or HTML would take for markup."""
    return _MARKUP.sub(r"\\\1", text)


def line(text: object) -> str:
    """The same on one line, as a cell of a table or an item of a list needs it."""
    return escaped(plain(text))


def bullets(lines: Iterable[str]) -> str:
    """One item a line; lines are Markdown already."""
    return "\n".join(f"- {line}" for line in lines)


def tabulated(
    rows: Sequence[Sequence[object]],
    heads: Sequence[str],
    style: str = "simple",
    align: Sequence[str] | None = None,
) -> str:
    """A table in a style of tabulate's, each row on one line.

    align: left or right, of each column. In the style ``github`` cells are Markdown that is no
    markup.
    """
    from tabulate import tabulate

    shown = line if style == "github" else plain
    cells = [[shown(value) for value in row] for row in rows]
    heads, align = [shown(head) for head in heads], align if rows else None
    return str(tabulate(cells, heads, style, colalign=align, disable_numparse=True))
