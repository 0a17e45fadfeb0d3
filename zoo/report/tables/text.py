"""Text from records made fit to be shown: it may hold anything that JSON can hold."""

from __future__ import annotations

import unicodedata

# Embeddings, overrides and isolates: what one of them opens and nothing closes turns round all that
# follows on the line, the page's own words as well.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: object, most: int | None = None) -> str:
    """One line without control characters, cut off with … beyond ``most`` characters.

    What turns the direction of the text after it is shown as its escape, ``\\u202e``. Left in are
    marks of direction and joiners, which scripts and emoji are made of.
    """
    kept = "".join(_shown(character) for character in str(text))
    line = " ".join(kept.split())
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    if character in _TURNING:
        return f"\\u{ord(character):04x}"
    return "" if unicodedata.category(character) in ("Cc", "Cs") else character
