"""The zoo's training in bf16 against the machine's bf16 matrix product, and on a CPU our fp32."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from bench.peers.comparison import Comparison, measured
from bench.peers.encoders import GPU_STEPS, SAME
from bench.peers.model_pairs import LOGITS_TOLERANCE, TORCH, check_equal, model_pair
from bench.peers.options import Options
from bench.peers.steps import (
    COPY,
    Batch,
    keep_all,
    logits,
    matrix_products,
    random_batches,
    training,
)
from bench.peers.turns import Step, interval, ratio, time_in_turns
from zoo.training.device import Runtime

FP32, BF16, PRODUCTS = "fp32", "bf16", "products"
MATRIX_PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
PROFILED = 2  # steps


def compare(options: Options) -> Iterator[Comparison]:
    """Every position is read, and nothing is dropped.

    On a CPU torch's fused kernel is no faster in bf16 than in fp32, while a softmax that is written
    out is: there bf16 runs with ``packed``.
    """
    shape, device = options.deep, options.runtime.device
    on_gpu = device.type == "cuda"
    attention = "fused" if on_gpu else "packed"
    batches = random_batches(shape, device)
    # Both have the weights of one torch encoder, and so compute the same.
    fp32, bf16 = (model_pair(TORCH, shape, attention=name)[0] for name in ("fused", attention))
    runtimes = {name: Runtime(device, name) for name in (FP32, BF16)}
    difference = _rounding(fp32, bf16, batches[0], device)
    steps = {
        BF16: training(bf16, batches, runtimes[BF16]),
        COPY: training(copy.deepcopy(bf16), batches, runtimes[BF16]),
    }
    if not on_gpu:  # fp32 would take minutes
        steps[FP32] = training(fp32, batches, runtimes[FP32])
    steps[PRODUCTS], product_flops = matrix_products(runtimes[BF16], quick=options.quick)
    times = time_in_turns(
        steps,
        rounds=options.rounds,
        count=GPU_STEPS if on_gpu else 1,
        synchronise=options.runtime.synchronise,
        before=keep_all,
    )
    seconds, products = (np.median(times[name], axis=1) for name in (BF16, PRODUCTS))
    noise = ratio(times[COPY], times[BF16])
    ours = f"{SAME}; bf16 autocast, attention {attention}"
    yield measured(
        "own",
        "training, its rate as a share",
        "bf16 matrix product",
        interval(shape.training_flops() / seconds * products / product_flops),
        runtimes[BF16],
        rounds=options.rounds,
        reach=0.5 if on_gpu else 0.55,
        noise=noise,
        sizes=shape.description,
        ours=f"{ours}; operations by formula, without recomputation",
        theirs="large square products",
        detail=f"of a step's time {profile_step(steps[BF16], runtimes[BF16])}",
        seconds={"ours": float(f"{np.median(seconds):.4g}")},
    )
    if not on_gpu:
        yield measured(
            "own",
            "training",
            "the zoo in fp32",
            ratio(times[FP32], times[BF16]),
            runtimes[BF16],
            rounds=options.rounds,
            reach=2.3,
            noise=noise,
            sizes=shape.description,
            ours=ours,
            theirs=f"{SAME}; fp32, attention fused",
            detail=f"with equal weights, logits differ by up to {difference:.2g}",
        )


def _rounding(fp32: nn.Module, bf16: nn.Module, batch: Batch, device: torch.device) -> float:
    """The largest difference of the logits in bf16 and fp32, with equal weights.

    Raises UnequalError where it is more than rounding explains.
    """
    exact = logits(fp32, batch, Runtime(device, "fp32"))
    rounded = logits(bf16, batch, Runtime(device, "bf16"))
    check_equal("logits in bf16 and in fp32", exact, rounded, LOGITS_TOLERANCE["bf16"])
    return float((exact - rounded).abs().max())


def profile_step(step: Step, runtime: Runtime) -> str:
    """``62% matrix products, 32% the attention kernel, 6% all else``: shares of a warm step.

    Of the time that operators spend themselves, on the device that computes.
    """
    on_gpu = runtime.device.type == "cuda"
    with profile(activities=[ProfilerActivity.CUDA if on_gpu else ProfilerActivity.CPU]) as trace:
        for number in range(PROFILED):
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
    if name in MATRIX_PRODUCTS or "gemm" in name or "nvjet" in name:
        return "matrix products"
    if name.startswith("aten::_scaled_dot_product") or "flash" in name or "fmha" in name:
        return "the attention kernel"
    return "all else"
