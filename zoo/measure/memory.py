"""How much memory work needs at its peak, beyond what the process held before."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import psutil
import torch

MIB = 2**20
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
# Another name for another meaning: zoo compare refuses memory that was measured differently.
HOW = "VmHWM less the RSS once all is loaded, freed memory returned"
HOW_ON_CUDA = "torch.cuda.max_memory_allocated less what the data and libraries held"

T = TypeVar("T")
Exercise = Callable[[str], object]  # runs a phase, the largest batch included
PHASES = ("inference", "training")  # training leaves gradients and optimizer's state


def peaks_of(
    device: torch.device,
    first: Callable[[], object],
    load: Callable[[], T],
    set_up: Callable[[T], Exercise],
) -> dict[str, dict[str, Any]]:
    """The peak of each phase in MiB (``peak_mib``), and how it was found (``how``).

    first: has the process load what it loads once (libraries, the optimizer's modules, kernels),
    which belongs to no model: in a fresh process it was half of a small model's memory. load: puts
    the data on the device. set_up: builds what is measured with them. What one phase leaves behind
    is in the peak of the next.
    On CUDA: what torch's allocator gave out, less what it had given out before set-up: the data,
    and the workspaces of libraries. On Linux: the process's own high-water mark (VmHWM), reset
    before each phase, less what it held before the data (``ru_maxrss`` would include the process it
    was forked from); freed memory is returned at once, so that it is what was needed and not what
    malloc holds back. Elsewhere: nothing, with the reason.
    """
    if sys.platform == "linux":
        give_back_blocks()
    first()
    gc.collect()  # a trainer is part of a reference cycle
    before = psutil.Process().memory_info().rss
    data = load()
    if device.type == "cuda":
        before = torch.cuda.memory_allocated(device)
    exercise = set_up(data)
    peaks = {phase: _peak(device, functools.partial(exercise, phase), before) for phase in PHASES}
    return {phase: {"peak_mib": peak, "how": how} for phase, (peak, how) in peaks.items()}


def _peak(
    device: torch.device, work: Callable[[], object], before: int
) -> tuple[float | None, str]:
    """MiB at the peak of some work beyond ``before`` bytes, None where unknown, and how or why."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
        work()
        return (torch.cuda.max_memory_allocated(device) - before) / MIB, HOW_ON_CUDA
    if sys.platform != "linux":
        return None, f"this platform reports no peak ({sys.platform})"
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError as error:
        return None, f"VmHWM cannot be reset: {error.strerror}"
    work()
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return peak / 2**10 - before / MIB, HOW


def keep_blocks() -> None:
    """Serve blocks of up to 1 GiB from memory that the process keeps: what timing wants.

    By default glibc maps whatever is above 32 MiB anew for every tensor and gives it back at once
    (mallopt(3), M_MMAP_THRESHOLD), so that every step pays for its pages again: 13% of a training
    step of 16 x 512 tokens at an inner width of 1,024, and half of one of naive attention over
    4,096 tokens. Nothing happens with another C library, or where glibc refuses.
    """
    _set_thresholds(mapped_above=2**30, trimmed_above=2**31 - 1)


def give_back_blocks() -> None:
    """Map whatever is above 1 MiB by itself: a peak is then of what was alive, and of no gaps."""
    _set_thresholds(mapped_above=MIB, trimmed_above=2**17)


def _set_thresholds(mapped_above: int, trimmed_above: int) -> None:
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        if mallopt(M_MMAP_THRESHOLD, mapped_above):
            mallopt(M_TRIM_THRESHOLD, trimmed_above)
