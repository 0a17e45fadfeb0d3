"""Text from records made fit to be shown: it may hold anything that JSON can hold."""

from __future__ import annotations

import unicodedata


def plain(text: object, most: int | None = None) -> str:
    """One line without control characters, cut off with … beyond ``most`` characters.

    Left in are marks of direction and joiners, which scripts and emoji are made of.
    """
    kept = "".join(
        " " if character.isspace() else character
        for character in str(text)
        if character.isspace() or unicodedata.category(character) not in ("Cc", "Cs")
    )
    line = " ".join(kept.split())
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"
