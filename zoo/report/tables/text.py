"""Text for tables and pages. What comes from records may contain anything that JSON can hold."""

from __future__ import annotations

import unicodedata
from typing import Any

# Embeddings, overrides and isolates. If a text opens one and nothing closes it, everything after
# it on the line changes direction, including the page's own words.
_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: object, most: int | None = None) -> str:
    """One line without control characters, cut off with … beyond ``most`` characters.

    A character that changes the direction of the text after it is shown as its escape,
    ``\\u202e``. Marks of direction and joiners remain: scripts and emoji are made of them.
    """
    line = " ".join("".join(_shown(character) for character in str(text)).split())
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    if character in _DIRECTION:
        return f"\\u{ord(character):04x}"
    return "" if unicodedata.category(character) in ("Cc", "Cs") else character


def counted(count: Any, noun: str) -> str:
    """``1 effect``, ``3 effects``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def from_to(low: int, high: int) -> str:
    """``5``, or ``3 to 5`` where the two differ."""
    return f"{low}" if low == high else f"{low} to {high}"


def percent(share: float) -> str:
    """A share as ``11%`` or ``1.3%``."""
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
