"""No positions at all: attention sees a bag of tokens."""

from __future__ import annotations

from zoo.components.pe.base import PositionalEncoding


class NoPositions(PositionalEncoding):
    """All three slots are the identity."""
