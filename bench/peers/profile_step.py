"""How the time of a step divides among its operators, by torch's profiler."""

from __future__ import annotations

from torch.profiler import ProfilerActivity, profile

from bench.peers.turns import Step
from zoo.training.device import Runtime

PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
ATTENTION = "aten::_scaled_dot_product"
STEPS = 2


def profile_step(step: Step, runtime: Runtime) -> str:
    """``62% matrix products, 32% the attention kernel, 6% all else``: shares of a warm step.

    Of the time that operators spend themselves, on the device that computes.
    """
    on_gpu = runtime.device.type == "cuda"
    with profile(activities=[ProfilerActivity.CUDA if on_gpu else ProfilerActivity.CPU]) as trace:
        for number in range(STEPS):
            step(number)
        runtime.synchronise()
    seconds = {"matrix products": 0.0, "the attention kernel": 0.0, "all else": 0.0}
    for event in trace.key_averages():
        own = event.self_device_time_total if on_gpu else event.self_cpu_time_total
        seconds[_group(event.key)] += own
    total = sum(seconds.values())
    return ", ".join(f"{time / total:.0%} {name}" for name, time in seconds.items())


def _group(name: str) -> str:
    """The group of an operator; on a GPU kernels have names such as gemm and flash."""
    if name in PRODUCTS or "gemm" in name or "nvjet" in name:
        return "matrix products"
    if name.startswith(ATTENTION) or "flash" in name or "fmha" in name:
        return "the attention kernel"
    return "all else"
