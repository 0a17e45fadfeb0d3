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
    """Something with a training loop and an inference loop."""

    def exercise(self, phase: str) -> None:
        """Run the loop of ``training`` or ``inference``, its largest batch included."""


def peak_of(
    *,
    device: torch.device,
    first: Callable[[], object],
    set_up: Callable[[], Exercise],
    phase: str,
) -> dict[str, Any]:
    """Peak MiB of one phase, and what was measured.

    first: has the process load what it loads once (libraries, an optimizer's modules, kernels),
    which is no part of any subject: measured in a fresh process, it made half of a small one.
    On CUDA what torch's allocator gave out and what it reserved. On Linux the process's own high
    water mark (VmHWM), reset after set-up, less what it held before set-up; ``ru_maxrss`` would
    tell of the process it was forked from. There freed memory is given back at once, so that the
    peak is of what was needed and not of what malloc kept. Elsewhere nothing, with the reason.
    """
    if sys.platform == "linux":
        give_back_blocks()
    first()
    gc.collect()  # a trainer hangs in a cycle, and would stay
    if device.type == "cuda":
        torch.cuda.empty_cache()
        subject = set_up()
        torch.cuda.reset_peak_memory_stats()
        subject.exercise(phase)
        return {
            "peak_mib": torch.cuda.max_memory_allocated() / MIB,
            "reserved_mib": torch.cuda.max_memory_reserved() / MIB,
            "how": "torch.cuda.max_memory_allocated",
        }
    if sys.platform != "linux":
        return {"peak_mib": None, "how": f"no peak is known to this platform ({sys.platform})"}
    before = psutil.Process().memory_info().rss
    subject = set_up()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError as error:
        return {"peak_mib": None, "how": f"VmHWM cannot be reset: {error.strerror}"}
    subject.exercise(phase)
    return {"peak_mib": (_high_water() - before) / MIB, "how": "VmHWM less the RSS before set-up"}


def _high_water() -> int:
    """VmHWM of this process in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no VmHWM")
