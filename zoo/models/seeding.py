"""Every part of a model draws its weights with a seed of its own."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator

import torch

# Whoever seeds torch's generator waits for others: all threads of a process share it.
GENERATOR = threading.RLock()


def derive(seed: int, part: str) -> int:
    """A 63-bit seed for one named part, derived from ``seed``."""
    digest = hashlib.sha256(f"{seed}/{part}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@contextlib.contextmanager
def seeded(seed: int, part: str) -> Iterator[None]:
    """Seed torch's CPU generator for one part; afterwards it is in its former state.

    So exchanging one component leaves the initial weights of all the others as they were.
    """
    with GENERATOR, torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed, which also seeds the generators of all GPUs.
        torch.default_generator.manual_seed(derive(seed, part))
        yield
