"""Pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

# What could begin markup inside a line; names of classes and plug-ins are anybody's.
_MARKUP = re.compile(r"([\\`*_\[\]<>|])")


def escaped(text: str) -> str:
    """The text with nothing in it that Markdown or HTML would take for markup."""
    return _MARKUP.sub(r"\\\1", text)


def bullets(lines: Sequence[str]) -> str:
    """One item a line; lines are Markdown already."""
    return "\n".join(f"- {line}" for line in lines)


def grid(rows: Sequence[Mapping[str, str]]) -> str:
    """A table of rows with the same keys; a column of nothing is left out."""
    from tabulate import tabulate

    heads = [head for head in rows[0] if any(row.get(head) for row in rows)]
    cells = [[row.get(head, "") for head in heads] for row in rows]
    return str(tabulate(cells, headers=heads, tablefmt="github", disable_numparse=True))


def link(text: str, target: str) -> str:
    """A link to a relative path."""
    return f"[{text}]({quote(target)})"
