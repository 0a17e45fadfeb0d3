"""Training the deep encoder: against other libraries, and against plain matrix products."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from bench.peers.comparison import Comparison, measured, skipped
from bench.peers.model_pairs import (
    LOGITS_TOLERANCE,
    PEERS,
    TORCH,
    MissingError,
    check_equal,
    check_equal_logits,
    model_pair,
)
from bench.peers.options import Options
from bench.peers.profile_step import profile_step
from bench.peers.steps import (
    COPY,
    Batch,
    allocate_as_usual,
    logits,
    our_name,
    random_batches,
    training,
)
from bench.peers.turns import Step, Times, interval, ratio, time_in_turns
from zoo.measure.allocator import keep_blocks
from zoo.measure.matrix_rate import measure_matrix_rate
from zoo.training.device import Runtime

WORK = "deep encoder"
EQUAL_WORK = "deep encoder, every token read, no dropout"
REACH = {
    "x-transformers (flash)": 1.15,
    "HF BERT (sdpa)": 1.5,
    "nn.TransformerEncoder": 2.2,
}
STEPS, GPU_STEPS = 1, 10  # steps of a turn


def compare_defaults(options: Options) -> Iterator[Comparison]:
    """Each peer with its library's defaults, reading the first token, against the equal cell.

    Ours computes only the first position in its last layer, and drops no attention weights.
    """
    conditions = (
        "first token read; default dropout: {0:g} in the library, with attention weights, {0:g} in "
        "ours, without; malloc as each has it"
    )
    yield from _compare(
        options, WORK, REACH, conditions, allocate_as_usual, dropout=True, pool="cls"
    )


def compare_equal_work(options: Options) -> Iterator[Comparison]:
    """Each peer and its equal cell doing the same arithmetic: every token is read, no dropout."""
    reach = dict.fromkeys(REACH, 1.0)
    conditions = "malloc keeps blocks for all"
    yield from _compare(
        options, EQUAL_WORK, reach, conditions, lambda _: keep_blocks(), pool="mean"
    )


def _compare(
    options: Options,
    work: str,
    reach: dict[str, float],
    conditions: str,
    before: Callable[[str], object],
    **pair_options: Any,
) -> Iterator[Comparison]:
    """Training steps in turns; before: called with the name when a turn begins."""
    runtime, shape = options.runtime, options.deep
    batches = random_batches(shape, runtime.device)
    steps: dict[str, Step] = {}
    for peer in PEERS:
        try:
            ours, theirs = model_pair(peer, shape, **pair_options)
        except MissingError as missing:
            yield skipped(work, peer.name, missing, runtime)
            continue
        if not steps:
            steps[COPY] = training(copy.deepcopy(ours), batches, runtime)
            copied = our_name(peer.name)
        check_equal_logits(peer, ours, theirs, batches[0], runtime)
        steps[our_name(peer.name)] = training(ours, batches, runtime)
        steps[peer.name] = training(theirs, batches, runtime)
    times = time_in_turns(
        steps,
        rounds=options.rounds,
        count=_steps_of_a_turn(runtime),
        synchronise=runtime.synchronise,
        before=before,
    )
    for peer in PEERS:
        if peer.name not in times:
            continue
        own = our_name(peer.name)
        yield measured(
            work,
            peer.name,
            ratio(times[peer.name], times[own]),
            runtime,
            rounds=options.rounds,
            reach=reach[peer.name],
            noise=ratio(times[COPY], times[copied]),
            detail=f"{shape.description}; forward, backward, AdamW; "
            f"{conditions.format(peer.dropout)}; equal logits and gradients",
            seconds=gpu_seconds(runtime, times, peer.name, own),
        )


def _steps_of_a_turn(runtime: Runtime) -> int:
    return GPU_STEPS if runtime.device.type == "cuda" else STEPS


def gpu_seconds(runtime: Runtime, times: Times, *names: str) -> dict[str, float] | None:
    """Median seconds of a step by name; None on other devices, where they say little."""
    if runtime.device.type != "cuda":
        return None
    return {name: float(np.median(times[name])) for name in names}


def compare_matrix_rates(options: Options) -> Iterator[Comparison]:
    """Our fp32 and bf16 against the machine's matrix product at the same precision.

    Every token is read, and nothing is dropped. On a CPU torch's fused kernel is no faster in bf16
    than in fp32, while a softmax that is written out is: there bf16 runs with ``packed``.
    """
    shape, device = options.deep, options.runtime.device
    on_gpu = device.type == "cuda"
    batches = random_batches(shape, device)
    attentions = {"fp32": "fused", "bf16": "fused" if on_gpu else "packed"}
    # Both have the weights of one torch encoder, and so compute the same.
    models = {
        name: model_pair(TORCH, shape, pool="mean", attention=attention)[0]
        for name, attention in attentions.items()
    }
    # On a GPU only bf16 is of interest, and fp32 would take minutes.
    precisions = ("bf16",) if on_gpu else ("fp32", "bf16")
    runtimes = {name: Runtime(device, name) for name in precisions}
    first = precisions[0]
    difference = _rounding(models["fp32"], models["bf16"], batches[0], device)
    steps = {name: training(models[name], batches, runtimes[name]) for name in precisions}
    steps[COPY] = training(copy.deepcopy(models[first]), batches, runtimes[first])
    keep_blocks()
    rounds: list[Times] = []
    rates: dict[str, list[float]] = {name: [] for name in precisions}
    for _ in range(options.rounds):
        rounds.append(
            time_in_turns(
                steps,
                rounds=1,
                count=_steps_of_a_turn(options.runtime),
                synchronise=options.runtime.synchronise,
            )
        )
        for name, runtime in runtimes.items():
            small = {"rounds": 1, "size": 256} if options.quick else {"rounds": 5}
            rates[name].append(measure_matrix_rate(runtime, **small))
    times = {name: np.concatenate([one[name] for one in rounds]) for name in steps}
    flops = shape.training_flops()
    noise = ratio(times[COPY], times[first])
    reach = {"fp32": 0.88, "bf16": 0.5 if on_gpu else 0.55}
    for name, runtime in runtimes.items():
        yield measured(
            f"{WORK}, {name}",
            f"{name} matrix product",
            interval(flops / np.median(times[name], axis=1) / np.array(rates[name])),
            runtime,
            rounds=options.rounds,
            reach=reach[name],
            noise=noise,
            detail=f"{shape.description}; {flops / 1e9:.3g} GFLOP a step by formula; matrix "
            f"product at {np.median(rates[name]) / 1e9:.4g} GFLOP/s; of a step's time "
            f"{profile_step(steps[name], runtime)}",
            seconds=gpu_seconds(runtime, times, name),
        )
    if not on_gpu:
        yield measured(
            f"{WORK}, bf16",
            "ours in fp32",
            ratio(times["fp32"], times["bf16"]),
            runtimes["bf16"],
            rounds=options.rounds,
            reach=2.3,
            noise=noise,
            detail=f"{shape.description}; autocast, attention {attentions['bf16']}; with equal "
            f"weights, logits differ by up to {difference:.2g}",
        )


def _rounding(fp32: nn.Module, bf16: nn.Module, batch: Batch, device: torch.device) -> float:
    """The largest difference of the logits in bf16 and fp32, with equal weights.

    Raises UnequalError where it is more than rounding explains.
    """
    exact = logits(fp32, batch, Runtime(device, "fp32"))
    rounded = logits(bf16, batch, Runtime(device, "bf16"))
    check_equal("logits in bf16 and in fp32", exact, rounded, LOGITS_TOLERANCE["bf16"])
    return float((exact - rounded).abs().max())
