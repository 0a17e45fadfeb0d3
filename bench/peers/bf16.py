"""The zoo's training in bf16 against the machine's bf16 matrix product, and on a CPU our fp32."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator

import torch
from torch import nn

from bench.peers.comparison import Comparison, measured
from bench.peers.encoders import SAME
from bench.peers.model_pairs import LOGITS_TOLERANCE, TORCH, check_equal, model_pair
from bench.peers.options import Options
from bench.peers.steps import (
    COPY,
    Batch,
    logits,
    matrix_products,
    profile_step,
    random_batches,
    take_turns,
    training,
)
from zoo.training.device import Runtime

FP32, BF16, PRODUCTS = "fp32", "bf16", "products"


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
    pairs = [(PRODUCTS, BF16), *((FP32, BF16) for _ in range(not on_gpu))]
    turns = take_turns(steps, options, pairs)
    check = turns.logs(COPY, BF16)
    ours = f"{SAME}; bf16 autocast, attention {attention}"
    yield measured(
        "own",
        "training, its rate as a share",
        "bf16 matrix product",
        turns.logs(PRODUCTS, BF16) + math.log(shape.training_flops() / product_flops),
        runtimes[BF16],
        check=check,
        contention=turns.contention,
        reach=0.5 if on_gpu else 0.55,
        sizes=shape.description,
        ours=f"{ours}; operations by formula, without recomputation",
        theirs="large square products",
        detail=f"of a step's time {profile_step(steps[BF16], runtimes[BF16])}",
        seconds={"ours": turns.median(BF16)},
    )
    if not on_gpu:
        yield measured(
            "own",
            "training",
            "the zoo in fp32",
            turns.logs(FP32, BF16),
            runtimes[BF16],
            check=check,
            contention=turns.contention,
            reach=2.3,
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
