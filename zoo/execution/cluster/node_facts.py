"""What a node says of itself before it gets any work, and whether that is good enough."""

from __future__ import annotations

import importlib.metadata
import platform
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zoo.config.settings import Execution
from zoo.errors import ZooError
from zoo.execution.base import Limits
from zoo.execution.cluster.scratch import slot_directory
from zoo.execution.process import Worker
from zoo.execution.same_code import require_same_code
from zoo.registry.code_hash import CodeVersion

ORDER: tuple[Literal["cuda", "mps", "cpu"], ...] = (
    "cuda",
    "mps",
    "cpu",
)  # of devices, as ``auto`` takes them


@dataclass(frozen=True)
class Device:
    """A device of a node. precisions: that it can compute in. environment: as in a record.

    The environment has the precision that ``auto`` gives.
    """

    precisions: tuple[str, ...]
    environment: Mapping[str, Any]


@dataclass(frozen=True)
class Facts:
    """python, torch: versions. wrong_code: why its code will not do; empty where it will."""

    python: str
    torch: str
    wrong_code: str
    devices: Mapping[str, Device]

    def unfit(self, execution: Execution) -> str:
        """Why the node cannot run the jobs of this process; empty where it can."""
        if self.wrong_code:
            return self.wrong_code
        for name, there, here in (
            ("Python", self.python, platform.python_version()),
            ("torch", self.torch, torch_version()),
        ):
            if there != here:
                return f"it has {name} {there}, and the run was started with {name} {here}"
        if execution.device == "auto":
            return ""
        if execution.device not in self.devices:
            there = ", ".join(self.devices)
            return f"torch finds no device {execution.device} there; there is: {there}"
        able = self.devices[execution.device].precisions
        if execution.precision not in ("auto", *able):
            return f"its {execution.device} does not compute in {execution.precision}"
        return ""

    def environment(self, execution: Execution) -> dict[str, Any]:
        """The environment of a job there; execution: as resolved."""
        environment = self.devices[execution.device].environment
        return {**environment, "precision": execution.precision}


def torch_version() -> str:
    """The version of torch that is installed here, without the name of its build.

    A node with a GPU has another build than a machine without.
    """
    return importlib.metadata.version("torch").partition("+")[0]


def describe_node(code: tuple[CodeVersion, ...], threads: int) -> Facts:
    """The facts of this machine, for jobs with this code and so many threads. Runs in a slot."""
    about = platform.python_version(), torch_version()
    try:
        require_same_code(code)
    except ZooError as error:
        return Facts(*about, str(error), {})
    with (
        tempfile.TemporaryDirectory(dir=slot_directory()) as scratch,
        Worker(Limits(threads=threads), Path(scratch) / "output.log") as worker,
    ):
        devices = worker.call("zoo.execution.cluster.node_devices:devices")
    return Facts(*about, "", {name: Device(*device) for name, device in devices.items()})


def resolved(execution: Execution, nodes: Iterable[Facts]) -> Execution:
    """Device and precision with ``auto`` replaced by the best that any of the nodes has."""
    nodes = list(nodes)
    device = execution.device
    if device == "auto":
        device = next((d for d in ORDER if any(d in facts.devices for facts in nodes)), device)
    precision = execution.precision
    if precision == "auto":
        found = (facts.devices[device] for facts in nodes if device in facts.devices)
        precision = next((each.environment["precision"] for each in found), precision)
    return execution.model_copy(update={"device": device, "precision": precision})
