"""No positions at all: attention sees a bag of tokens."""

from __future__ import annotations

from zoo.components.pe.base import PositionalEncoding
from zoo.registry.declarations import part


@part("pe", "none")
class NoPositions(PositionalEncoding):
    """No positions: the order of the tokens is not known.

    All three slots are the identity.
    """
