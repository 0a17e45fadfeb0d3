"""What the machine's own matrix product does."""

from __future__ import annotations

import statistics
import time

import torch

from zoo.training.device import Runtime


def measure_matrix_rate(runtime: Runtime, rounds: int = 7, size: int = 0) -> float:
    """FLOP/s of a large square product at the runtime's precision: the median of some rounds.

    size: of the matrices; 0: large enough for the device.
    """
    size = size or (8192 if runtime.device.type == "cuda" else 1024)
    dtype = torch.bfloat16 if runtime.precision == "bf16" else torch.float32
    a = torch.randn(size, size, device=runtime.device, dtype=dtype)
    b = torch.randn(size, size, device=runtime.device, dtype=dtype)
    rates = []
    for _ in range(rounds + 2):
        runtime.synchronise()
        start = time.perf_counter()
        for _ in range(4):
            a @ b
        runtime.synchronise()
        rates.append(4 * 2 * size**3 / (time.perf_counter() - start))
    return statistics.median(rates[2:])
