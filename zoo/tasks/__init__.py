"""What a model is trained for: its data, its loss, and the score its rows are ranked by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from zoo.registry import Register


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in components of this package."""
