"""Jobs on a Ray cluster."""

from zoo import hookimpl
from zoo.registry import Register


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the executor ``ray``."""
    register(
        "executor",
        "ray",
        "zoo_ray.executor:RayExecutor",
        summary="on the machines of a Ray cluster, or on a Ray of this machine's own",
        parameters={"address": ""},
    )
