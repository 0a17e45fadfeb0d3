"""The block components of this distribution, and their registration."""

from __future__ import annotations

from zoo.registry import Register


def register_all(register: Register) -> None:
    """Register every one of them."""
