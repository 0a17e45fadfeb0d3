"""What pytest-benchmark's JSON says of the machine, besides what it finds by itself."""

from __future__ import annotations

from typing import Any

from zoo.config.settings import Execution
from zoo.execution.machine import environment


def pytest_benchmark_update_machine_info(config: object, machine_info: dict[str, Any]) -> None:
    """Add the environment that the zoo's records have as well: versions, threads, commit."""
    machine_info["zoo"] = environment(Execution(device="cpu"))
