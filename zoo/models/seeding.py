"""Every part of a model draws its weights from a stream of its own."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator

import torch


def derive(seed: int, part: str) -> int:
    """A 63-bit seed for one part of what hangs on ``seed``."""
    digest = hashlib.sha256(f"{seed}/{part}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@contextlib.contextmanager
def seeded(seed: int, part: str) -> Iterator[None]:
    """Draw from the part's own stream on the CPU, and leave torch's generator as it was.

    So exchanging one component leaves the initial weights of all the others as they were.
    """
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed, which seeds every device and would leave a GPU's stream changed.
        torch.default_generator.manual_seed(derive(seed, part))
        yield
