"""glibc's malloc: keep freed blocks for the next step, or return them to the system at once."""

from __future__ import annotations

import contextlib
import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
KIB, MIB, GIB = 2**10, 2**20, 2**30


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
