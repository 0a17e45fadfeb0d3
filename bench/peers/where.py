"""Where a step's time goes, by torch's profiler: why a share of the matrix rate is what it is."""

from __future__ import annotations

from collections.abc import Callable

from torch.profiler import ProfilerActivity, profile

from zoo.train.device import Runtime

PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
KERNELS = "aten::_scaled_dot_product"
STEPS = 2


def where(step: Callable[[int], object], runtime: Runtime) -> str:
    """``62% matrix products, 32% the attention kernel, 6% all else``: shares of a warm step.

    Of time that operators spend themselves, on the device that computes.
    """
    on_gpu = runtime.device.type == "cuda"
    with profile(activities=[ProfilerActivity.CUDA if on_gpu else ProfilerActivity.CPU]) as trace:
        for number in range(STEPS):
            step(number)
        runtime.synchronise()
    spent = {"matrix products": 0.0, "the attention kernel": 0.0, "all else": 0.0}
    for row in trace.key_averages():
        own = row.self_device_time_total if on_gpu else row.self_cpu_time_total
        spent[_sort(row.key)] += own
    whole = sum(spent.values())
    return ", ".join(f"{time / whole:.0%} {name}" for name, time in spent.items())


def _sort(name: str) -> str:
    """On a GPU kernels have names of their own, which say what they are."""
    if name in PRODUCTS or "gemm" in name or "nvjet" in name:
        return "matrix products"
    if name.startswith(KERNELS) or "flash" in name or "fmha" in name:
        return "the attention kernel"
    return "all else"
