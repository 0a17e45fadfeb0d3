"""Jobs, and the executors that run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from zoo.registry import Register


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in executors."""
    register(
        "executor",
        "local",
        "zoo.execution.local:LocalExecutor",
        summary="each job in a process of its own on this machine",
    )
    register(
        "executor",
        "inline",
        "zoo.execution.inline:InlineExecutor",
        summary="every job in this process, for debuggers and notebooks",
    )
