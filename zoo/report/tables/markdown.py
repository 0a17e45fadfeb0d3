"""Pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from zoo.report.tables.text import plain

# What could begin markup inside a line: names of classes and plug-ins may contain anything.
_MARKUP = re.compile(r"([\\`*_\[\]<>|]|&(?=#?\w+;))")
_BARE_PIPE = re.compile(r"(?<!\\)\|")


def escaped(text: str) -> str:
    """The text with nothing in it that Markdown or HTML would take for markup."""
    return _MARKUP.sub(r"\\\1", text)


def line(text: object) -> str:
    """The same on one line, as a cell of a table or an item of a list needs it."""
    return escaped(plain(text))


def code(text: object) -> str:
    """A name as code, on one line; it may contain backticks. ``grid`` escapes its pipes."""
    shown = plain(text)
    fence = "`" * (1 + max(map(len, re.findall(r"`+", shown)), default=0))
    return f"{fence}{shown}{fence}" if len(fence) == 1 else f"{fence} {shown} {fence}"


def bullets(lines: Sequence[str]) -> str:
    """One item a line; lines are Markdown already."""
    return "\n".join(f"- {line}" for line in lines)


def grid(rows: Sequence[Mapping[str, str]]) -> str:
    """A table of rows with the same keys, without empty columns.

    Cells are Markdown already, except for pipes inside code, which would end a cell: they are
    escaped here.
    """
    from tabulate import tabulate

    heads = [head for head in rows[0] if any(row.get(head) for row in rows)]
    cells = [[_BARE_PIPE.sub(r"\\|", row.get(head, "")) for head in heads] for row in rows]
    return str(tabulate(cells, headers=heads, tablefmt="github", disable_numparse=True))


def link(text: str, target: str) -> str:
    """A link to a relative path."""
    return f"[{text}]({quote(target)})"
