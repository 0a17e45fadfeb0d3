"""What a plug-in may implement."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from zoo.registry import Register

hookspec = pluggy.HookspecMarker("zoo")
hookimpl = pluggy.HookimplMarker("zoo")


@hookspec
def zoo_register(register: Register) -> None:
    """Register this plug-in's components, one ``register(kind, name, factory, ...)`` call each."""


@hookspec
def zoo_commands(app: Callable[..., None]) -> None:
    """Add commands to ``zoo``, one ``app(name, command, summary=...)`` call each.

    command: a click command, or a lazy ``"package.module:attribute"``. summary: its line of
    ``zoo --help``.
    """
