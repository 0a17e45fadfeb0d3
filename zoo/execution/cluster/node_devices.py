"""Which devices this machine has, and what each can do. Runs in a worker process, with torch."""

from __future__ import annotations

from typing import Any

import torch

from zoo.config.settings import Execution
from zoo.errors import ZooError
from zoo.execution.environment import environment
from zoo.training.device import resolve


def devices() -> dict[str, tuple[tuple[str, ...], dict[str, Any]]]:
    """Name of a device to the precisions that it computes in, and the environment of jobs on it."""
    found: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {}
    for name in ("cpu", "cuda", "mps"):
        try:
            runtime = resolve(Execution.model_validate({"device": name}))
        except ZooError:
            continue
        able = name != "cuda" or torch.cuda.is_bf16_supported()
        found[name] = (("fp32", "bf16") if able else ("fp32",), environment(runtime))
    return found
