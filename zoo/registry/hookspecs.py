"""What a plug-in may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from zoo.registry import Register

hookspec = pluggy.HookspecMarker("zoo")
hookimpl = pluggy.HookimplMarker("zoo")


@hookspec
def zoo_register(register: Register) -> None:
    """Register this plug-in's components, one ``register(kind, name, factory, ...)`` call each.

    A command of ``zoo`` has the kind "command"; its factory is the click command.
    """
