"""Names of data sets and rows as parts of paths."""

from __future__ import annotations

import re


def slug(name: str) -> str:
    """A name as part of a file's name: ``recall(pairs=32)`` as ``recall-pairs-32``."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.") or "data"
