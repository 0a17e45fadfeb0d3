"""Jobs and the executors that run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from zoo.registry import Register


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in components of this package."""
