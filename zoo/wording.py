"""Words for numbers, as messages, tables and pages use them."""

from __future__ import annotations

from typing import Any


def counted(count: Any, noun: str) -> str:
    """``1 effect``, ``3 effects``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
