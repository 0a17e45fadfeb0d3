"""How much memory work needs at its peak, beyond what the process held before."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import psutil
import torch

from zoo.measure.allocator import give_back_blocks

MIB = 2**20


class Exercise(Protocol):
    """Something with a training phase and an inference phase."""

    def exercise(self, phase: str) -> None:
        """Run ``training`` or ``inference``, the largest batch included."""


def peak_of(
    *,
    device: torch.device,
    first: Callable[[], object],
    set_up: Callable[[], Exercise],
    phase: str,
) -> dict[str, Any]:
    """Peak MiB of one phase, and how it was measured.

    first: has the process load what it loads once (libraries, the optimizer's modules, kernels),
    which belongs to no model: in a fresh process it was half of a small model's memory.
    On CUDA: what torch's allocator gave out and reserved. On Linux: the process's own high-water
    mark (VmHWM), reset after set-up, less what it held before set-up (``ru_maxrss`` would include
    the process it was forked from). There freed memory is returned at once, so that the peak is
    what was needed and not what malloc holds back. Elsewhere: nothing, with the reason.
    """
    if sys.platform == "linux":
        give_back_blocks()
    first()
    gc.collect()  # a trainer is part of a reference cycle
    if device.type == "cuda":
        torch.cuda.empty_cache()
        measured = set_up()
        torch.cuda.reset_peak_memory_stats()
        measured.exercise(phase)
        return {
            "peak_mib": torch.cuda.max_memory_allocated() / MIB,
            "reserved_mib": torch.cuda.max_memory_reserved() / MIB,
            "how": "torch.cuda.max_memory_allocated",
        }
    if sys.platform != "linux":
        return {"peak_mib": None, "how": f"this platform reports no peak ({sys.platform})"}
    before = psutil.Process().memory_info().rss
    measured = set_up()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError as error:
        return {"peak_mib": None, "how": f"VmHWM cannot be reset: {error.strerror}"}
    measured.exercise(phase)
    return {"peak_mib": (_high_water() - before) / MIB, "how": "VmHWM less the RSS before set-up"}


def _high_water() -> int:
    """VmHWM of this process in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no VmHWM")
