"""How much memory work needs at its peak, beyond what the process held before."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import psutil
import torch

KIB, MIB, GIB = 2**10, 2**20, 2**30
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
# Another name for another meaning: zoo compare refuses memory that was measured differently.
HOW = "VmHWM less the RSS once all is loaded, freed memory returned"


class Exercise(Protocol):
    """Something with a training phase and an inference phase."""

    def exercise(self, phase: str) -> None:
        """Run ``training`` or ``inference``, the largest batch included."""


def peaks_of(
    *,
    device: torch.device,
    first: Callable[[], object],
    set_up: Callable[[], Exercise],
    phases: Sequence[str],
) -> dict[str, dict[str, Any]]:
    """The peak of each phase in MiB (``peak_mib``), and how it was found (``how``).

    first: has the process load what it loads once (libraries, the optimizer's modules, kernels),
    which belongs to no model: in a fresh process it was half of a small model's memory. phases: in
    the order in which they run; what one leaves behind is in the peak of the next.
    On CUDA: what torch's allocator gave out. On Linux: the process's own high-water mark (VmHWM),
    reset before each phase, less what it held before set-up (``ru_maxrss`` would include the
    process it was forked from); freed memory is returned at once, so that it is what was needed and
    not what malloc holds back. Elsewhere: nothing, with the reason.
    """
    if sys.platform == "linux":
        give_back_blocks()
    first()
    gc.collect()  # a trainer is part of a reference cycle
    before = psutil.Process().memory_info().rss
    measured = set_up()
    if device.type == "cuda":
        return {phase: _peak_on_gpu(measured, phase) for phase in phases}
    how = HOW
    peaks: dict[str, float | None] = dict.fromkeys(phases)
    if sys.platform != "linux":
        how = f"this platform reports no peak ({sys.platform})"
    else:
        try:
            peaks |= {phase: _peak(measured, phase, before) for phase in phases}
        except OSError as error:
            how = f"VmHWM cannot be reset: {error.strerror}"
    return {phase: {"peak_mib": peak, "how": how} for phase, peak in peaks.items()}


def _peak_on_gpu(measured: Exercise, phase: str) -> dict[str, Any]:
    """What torch's allocator gave out."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    measured.exercise(phase)
    peak = torch.cuda.max_memory_allocated() / MIB
    return {"peak_mib": peak, "how": "torch.cuda.max_memory_allocated"}


def _peak(measured: Exercise, phase: str, before: int) -> float:
    """MiB of this process at its peak in a phase, beyond ``before`` bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    measured.exercise(phase)
    return (_high_water() - before) / MIB


def _high_water() -> int:
    """VmHWM of this process in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no VmHWM")


def keep_blocks() -> None:
    """Serve blocks of up to 1 GiB from memory that the process keeps: what timing wants.

    By default glibc maps whatever is above 32 MiB anew for every tensor and gives it back at once
    (mallopt(3), M_MMAP_THRESHOLD), so that every step pays for its pages again: 13% of a training
    step of 16 x 512 tokens at an inner width of 1,024, and half of one of naive attention over
    4,096 tokens. Nothing happens with another C library, or where glibc refuses.
    """
    set_thresholds(mapped_above=GIB, trimmed_above=2 * GIB - 1)


def give_back_blocks() -> None:
    """Map whatever is above 1 MiB by itself: a peak is then of what was alive, and of no gaps."""
    set_thresholds(mapped_above=MIB, trimmed_above=128 * KIB)


def set_thresholds(mapped_above: int, trimmed_above: int) -> None:
    """Bytes above which malloc maps a block by itself, and trims; ignored by other C libraries."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        if mallopt(M_MMAP_THRESHOLD, mapped_above):
            mallopt(M_TRIM_THRESHOLD, trimmed_above)
