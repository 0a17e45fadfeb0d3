"""Which device and precision a run uses, and what the machine is."""

from __future__ import annotations

import contextlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from zoo.config.settings import Execution
from zoo.errors import ZooError


@dataclass(frozen=True)
class Runtime:
    """A device and the precision of the arithmetic on it."""

    device: torch.device
    precision: str

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """Run under bf16 autocast where that is the precision."""
        if self.precision == "bf16":
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def synchronise(self) -> None:
        """Wait until the device has finished all its work."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        elif self.device.type == "mps":
            torch.mps.synchronize()


def resolve(execution: Execution) -> Runtime:
    """Resolve ``auto``; ZooError where the machine has no such device."""
    has = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    name = execution.device
    if name == "auto":
        name = next(d for d in ("cuda", "mps", "cpu") if has[d])
    if not has[name]:
        raise ZooError(
            f"--device {name}: torch {torch.__version__} finds no such device here; "
            f"there is: {', '.join(d for d in has if has[d])}"
        )
    precision = execution.precision
    if precision == "auto":
        precision = "bf16" if name == "cuda" and torch.cuda.is_bf16_supported() else "fp32"
    return Runtime(torch.device(name), precision)


def describe(runtime: Runtime) -> dict[str, Any]:
    """The versions and hardware that results depend on, for a record's environment."""
    if runtime.device.type == "cuda":
        name, driver = torch.cuda.get_device_name(), _nvidia_driver()
    else:
        name, driver = _cpu_name(), ""
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),  # TorchVersion would have whoever receives it import torch
        "platform": f"{platform.system()} {platform.machine()}",
        "device": runtime.device.type,
        "device_name": name,
        "driver": driver,
        "cuda": torch.version.cuda or "",
        "precision": runtime.precision,
        "threads": torch.get_num_threads(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
    }


def _cpu_name() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _nvidia_driver() -> str:
    with contextlib.suppress(OSError):
        first = Path("/proc/driver/nvidia/version").read_text().splitlines()[0]
        return next((word for word in first.split() if word[:1].isdigit()), first)
    return ""
