"""The deep encoder, trained: against the peers, and against the machine's own matrix product."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from bench.peers.lines import Line, machine, made
from bench.peers.options import Options
from bench.peers.rivals import (
    PEERS,
    ROUNDED,
    Batch,
    MissingError,
    as_it_comes,
    logits,
    must_agree,
    must_agree_on,
    pair,
    random_batches,
    training,
)
from bench.peers.timing import Ratio, Times, Work, interval, race, ratio
from bench.peers.where import where
from zoo.measure.allocator import keep_blocks
from zoo.measure.matrix_rate import measure_matrix_rate
from zoo.train.device import Runtime

WORK = "deep encoder"
LEVEL = "deep encoder, every token read, no dropout"
REACH = {
    "x-transformers (flash)": 1.15,
    "HF BERT (sdpa)": 1.5,
    "nn.TransformerEncoder": 2.2,
}
PIECES, GPU_PIECES = 1, 10  # steps of a round


def against_peers(options: Options) -> Iterator[Line]:
    """Each peer as it comes, first token read, against the cell that is the same function.

    Ours computes of the last layer only what is read, and drops no attention weights.
    """
    drops = "dropout as it comes: {:g} there, with attention weights; {:g} here, without"
    how = f"first token read; {drops}; malloc as each has it"
    yield from _race(options, WORK, REACH, how, as_it_comes, dropout=True)


def level(options: Options) -> Iterator[Line]:
    """The same with nothing to win by: every token is read, and nothing is dropped."""
    same = "malloc keeps blocks for all"
    yield from _race(
        options, LEVEL, dict.fromkeys(REACH, 1.0), same, lambda _: keep_blocks(), pool="mean"
    )


def _race(
    options: Options,
    work: str,
    reach: dict[str, float],
    how: str,
    before: Callable[[str], object],
    **making: Any,
) -> Iterator[Line]:
    runtime, shape = options.runtime, options.deep
    batches = random_batches(shape, runtime.device)
    contenders: dict[str, Work] = {}
    for peer in PEERS:
        try:
            ours, theirs = pair(peer, shape, **making)
        except MissingError as missing:
            yield Line(work=work, against=peer.name, skipped=str(missing), **machine(runtime))
            continue
        if not contenders:
            contenders["itself"] = training(copy.deepcopy(ours), batches, runtime)
            first = peer.name
        must_agree_on(peer.name, ours, theirs, batches[0], runtime)
        contenders[f"ours as {peer.name}"] = training(ours, batches, runtime)
        contenders[peer.name] = training(theirs, batches, runtime)
    times = race(
        contenders,
        rounds=options.rounds,
        pieces=_pieces(runtime),
        synchronise=runtime.synchronise,
        before=before,
    )
    noise = ratio(times["itself"], times[f"ours as {first}"]).ratio
    for peer in PEERS:
        if peer.name in times:
            ours_name = f"ours as {peer.name}"
            yield made(
                work,
                peer.name,
                ratio(times[peer.name], times[ours_name]),
                runtime,
                rounds=options.rounds,
                reach=reach[peer.name],
                noise=round(noise, 4),
                detail="; ".join(
                    filter(
                        None,
                        (
                            f"{shape.words}; forward, backward, AdamW",
                            how.format(peer.dropout, peer.dropout),
                            "equal logits and gradients",
                        ),
                    )
                ),
                seconds=on_gpu(runtime, times, peer.name, ours_name),
            )


def _pieces(runtime: Runtime) -> int:
    return GPU_PIECES if runtime.device.type == "cuda" else PIECES


def on_gpu(runtime: Runtime, times: Times, *names: str) -> dict[str, float] | None:
    """Absolute times, which mean something on a GPU alone."""
    if runtime.device.type != "cuda":
        return None
    return {name: float(np.median(times[name])) for name in names}


def matrix_rates(options: Options) -> Iterator[Line]:
    """Our fp32 and bf16 against the machine's matrix product at the same precision.

    Every token is read, and nothing dropped. On a CPU torch's fused kernel is no faster in bf16
    than in fp32, and writing the softmax out is: there bf16 runs with ``packed``.
    """
    shape, device = options.deep, options.runtime.device
    batches = random_batches(shape, device)
    attentions = {"fp32": "fused", "bf16": "packed" if device.type == "cpu" else "fused"}
    # Twins of torch's encoder, which everybody has; equal to it, they are equal to each other.
    models = {
        name: pair(PEERS[-1], shape, pool="mean", attention=attention)[0]
        for name, attention in attentions.items()
    }
    # A GPU's own measure is bf16; in fp32 it would run for minutes to say little.
    gpu = device.type == "cuda"
    runtimes = {name: Runtime(device, name) for name in (("bf16",) if gpu else ("fp32", "bf16"))}
    first = next(iter(runtimes))
    off = _rounding(models["fp32"], models["bf16"], batches[0], device)
    contenders = {}
    for name, runtime in runtimes.items():
        contenders[name] = training(models[name], batches, runtime)
    contenders["itself"] = training(copy.deepcopy(models[first]), batches, runtimes[first])
    pieces = _pieces(options.runtime)
    keep_blocks()
    times: Times = {name: np.zeros((options.rounds, pieces)) for name in contenders}
    rates = {name: np.zeros(options.rounds) for name in runtimes}
    for number in range(options.rounds):
        one = race(contenders, rounds=1, pieces=pieces, synchronise=options.runtime.synchronise)
        for name in contenders:
            times[name][number] = one[name][0]
        for name, runtime in runtimes.items():
            rates[name][number] = measure_matrix_rate(runtime, rounds=5)
    flops = shape.training_flops()
    noise = ratio(times["itself"], times[first]).ratio
    detail = f"{shape.words}; {flops / 1e9:.3g} GFLOP a step by formula; matrix product at "
    reach = {"fp32": 0.88, "bf16": 0.5 if gpu else 0.55}
    for name in runtimes:
        share: Ratio = interval(flops / np.median(times[name], axis=1) / rates[name])
        yield made(
            f"{WORK}, {name}",
            f"{name} matrix product",
            share,
            runtimes[name],
            rounds=options.rounds,
            reach=reach[name],
            noise=round(noise, 4),
            detail=f"{detail}{np.median(rates[name]) / 1e9:.4g} GFLOP/s; of a step's time "
            f"{where(contenders[name], runtimes[name])}",
            seconds=on_gpu(runtimes[name], times, name),
        )
    if gpu:
        return
    yield made(
        f"{WORK}, bf16",
        "ours in fp32",
        ratio(times["fp32"], times["bf16"]),
        runtimes["bf16"],
        rounds=options.rounds,
        reach=2.3,
        noise=round(noise, 4),
        detail=f"{shape.words}; autocast, attention {attentions['bf16']}; from equal weights "
        f"logits within {off:.2g} of each other",
    )


def _rounding(fp32: nn.Module, bf16: nn.Module, batch: Batch, device: torch.device) -> float:
    """How far the logits in bf16 are from those in fp32; UnequalError where it is more than that.

    From equal weights, on a batch that will be timed.
    """
    exact = logits(fp32, batch, Runtime(device, "fp32"))
    rounded = logits(bf16, batch, Runtime(device, "bf16"))
    must_agree("logits in bf16 and in fp32", exact, rounded, ROUNDED["bf16"])
    return float((exact - rounded).abs().max())
