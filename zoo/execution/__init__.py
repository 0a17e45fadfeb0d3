"""Jobs, and the executors that run them."""

from zoo.registry import Register
from zoo.registry.hookspecs import hookimpl


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
        "zoo.execution.local:InlineExecutor",
        summary="every job in this process, for debuggers and notebooks",
    )
