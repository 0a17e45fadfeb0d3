"""Tables and links of Markdown pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from tabulate import tabulate

from zoo.report.tables.text import plain

_BARE_PIPE = re.compile(r"(?<!\\)\|")


def grid(rows: Sequence[Mapping[str, str]]) -> str:
    """A table of rows with the same keys, without empty columns.

    Cells are Markdown already, except for pipes inside code, which would end a cell: they are
    escaped here.
    """
    heads = [head for head in rows[0] if any(row.get(head) for row in rows)]
    cells = [[_BARE_PIPE.sub(r"\\|", row.get(head, "")) for head in heads] for row in rows]
    return tabulate(cells, heads, "github", disable_numparse=True)


def code(text: object) -> str:
    """A name as code, on one line; it may contain backticks. Pipes are not escaped."""
    shown = plain(text)
    fence = "`" * (1 + max(map(len, re.findall(r"`+", shown)), default=0))
    return f"{fence}{shown}{fence}" if len(fence) == 1 else f"{fence} {shown} {fence}"


def link(text: str, target: str) -> str:
    """A link to a relative path."""
    return f"[{text}]({quote(target)})"
