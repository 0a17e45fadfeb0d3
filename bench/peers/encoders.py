"""An encoder of each library and ours that equals it: equal work, and what the zoo leaves out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import psutil
import torch

from bench.peers.comparison import Comparison, Kind, measured, skipped
from bench.peers.model_pairs import (
    PEERS,
    X_ROTARY,
    MissingError,
    PeerModel,
    check_equal_on_batch,
    model_pair,
)
from bench.peers.options import DEFAULT, Options, Shape
from bench.peers.steps import (
    COPY,
    inference,
    keep_all,
    keep_own,
    matrix_products,
    our_name,
    random_batches,
    training,
)
from bench.peers.turns import Step, Times, interval, ratio, time_in_turns
from zoo.training.device import Runtime

MATRIX = "matrix products"
SAME = "every position, no dropout, blocks kept"
TRAINING_REACH, INFERENCE_REACH = 1.1, 1.0
COUNTS = {1: 10, 16: 3, 64: 1}  # batch size to steps of a turn, in inference
RATE = 0.1  # of dropout: the default of the zoo, of BERT and of torch
GPU_STEPS = 10  # of a turn, of training


@dataclass(frozen=True)
class Case:
    """What is timed, and what each side computes of it.

    pair: more options of ``model_pair`` for a peer. before: called with the name of the side
    when its turn begins. training: forward, backward and AdamW; else the logits alone. count: steps
    of a turn. reach: the goal.
    """

    kind: Kind
    shape: Shape
    ours: str
    theirs: str
    pair: Callable[[PeerModel], dict[str, Any]] = field(default=lambda peer: {})
    before: Callable[[str], object] = keep_all
    training: bool = True
    count: int = 1
    reach: float | None = None
    peers: tuple[PeerModel, ...] = PEERS

    @property
    def work(self) -> str:
        """What is timed, in a word."""
        return "training" if self.training else "inference"


def compare(case: Case, options: Options) -> Iterator[Comparison]:
    """Each peer and the cell that equals it, on the same batches in the same order.

    Equal logits and gradients on a batch that is timed are asserted first, without dropout.
    """
    runtime, shape = options.runtime, case.shape
    if lacking := _lacking(case, runtime):
        yield skipped(case.kind, f"{case.work}, {shape.description}", "all", lacking, runtime)
        return
    batches = random_batches(shape, runtime.device, 2 if case.training else 1)
    make = training if case.training else inference
    steps: dict[str, Step] = {}
    for peer in case.peers:
        try:
            ours, theirs = model_pair(peer, shape, **case.pair(peer))
        except MissingError as missing:
            yield skipped(case.kind, case.work, peer.name, missing, runtime)
            continue
        check_equal_on_batch(peer, ours, theirs, batches[0], runtime)
        if not steps:
            steps[COPY] = make(copy.deepcopy(ours), batches, runtime)
            copied = our_name(peer.name)
        steps[our_name(peer.name)] = make(ours, batches, runtime)
        steps[peer.name] = make(theirs, batches, runtime)
    if not steps:
        return
    steps[MATRIX], product_flops = matrix_products(runtime, quick=options.quick)
    times = time_in_turns(
        steps,
        rounds=options.rounds,
        count=GPU_STEPS if case.training and runtime.device.type == "cuda" else case.count,
        synchronise=runtime.synchronise,
        before=case.before,
    )
    for peer in case.peers:
        if peer.name not in times:
            continue
        own, theirs_seconds = times[our_name(peer.name)], times[peer.name]
        yield measured(
            case.kind,
            case.work,
            peer.name,
            ratio(theirs_seconds, own),
            runtime,
            rounds=options.rounds,
            reach=case.reach,
            noise=ratio(times[COPY], times[copied]),
            sizes=shape.description,
            ours=case.ours,
            theirs=case.theirs,
            seconds={"ours": _median(own), "theirs": _median(theirs_seconds)},
            **_shares(case, own, times, product_flops),
        )


def _shares(case: Case, seconds: np.ndarray, times: Times, flops: int) -> dict[str, Any]:
    """Our rate divided by that of the products; of training also with recomputation.

    Nothing where operations are left out that the formula counts.
    """
    if case.kind != "equal":
        return {}
    products = flops / np.median(times[MATRIX], axis=1)
    whole = case.shape.training_flops()
    rate = interval(1 / np.median(seconds, axis=1) / products).ratio
    if not case.training:
        return {"matrix_share": round(rate * whole / 3, 4)}  # the backward pass costs twice as much
    recomputed = whole + case.shape.recomputed_flops()
    return {
        "matrix_share": round(rate * whole, 4),
        "recomputed_share": round(rate * recomputed, 4),
    }


def _median(seconds: np.ndarray) -> float:
    return float(f"{np.median(seconds):.4g}")


def _lacking(case: Case, runtime: Runtime) -> str:
    """Why there is too little memory for all models of the case; empty where there is enough."""
    needed = case.shape.training_bytes(models=2 * len(case.peers) + 1)
    if runtime.device.type == "cuda":
        free = torch.cuda.mem_get_info(runtime.device)[0]
    else:
        free = psutil.virtual_memory().available
    if needed <= free:
        return ""
    return f"needs about {needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free"


def compare_training(options: Options) -> Iterator[Comparison]:
    """Equal work: forward, backward and AdamW at several sizes."""
    equal = Case("equal", DEFAULT, SAME, SAME, reach=TRAINING_REACH, peers=(*PEERS, X_ROTARY))
    for shape in options.trained:
        yield from compare(replace(equal, shape=shape, count=3 if shape is DEFAULT else 1), options)


def compare_inference(options: Options) -> Iterator[Comparison]:
    """Equal work: logits in evaluation mode, of one text and of several at once."""
    equal = Case("equal", DEFAULT, SAME, SAME, reach=INFERENCE_REACH, peers=(*PEERS, X_ROTARY))
    for batch, count in COUNTS.items():
        shape = replace(options.deep, batch=batch)
        yield from compare(replace(equal, shape=shape, training=False, count=count), options)


def compare_positions(options: Options) -> Iterator[Comparison]:
    """Left out: all positions but the first, which a classifier on BERT's first token reads."""
    yield from compare(
        Case(
            "left out",
            options.deep,
            ours="the first position alone in the last layer; no dropout, blocks kept",
            theirs="every position, of which the first is read; no dropout, blocks kept",
            pair=lambda peer: {"pool": "cls"},
        ),
        options,
    )


def compare_dropout(options: Options) -> Iterator[Comparison]:
    """Left out: random numbers at one rate; then dropout of attention weights, the default too."""
    drawn = f"every position, dropout {RATE:g} of activations"
    case = Case(
        "left out",
        options.deep,
        ours=f"{drawn}, four elements a random number; blocks kept",
        theirs=f"{drawn}, one element a random number; blocks kept",
        pair=lambda peer: {"dropout": RATE},
    )
    yield from compare(case, options)
    by_default = replace(
        case,
        theirs=f"{drawn}, one element a random number, and of attention weights, as by default; "
        "blocks kept",
        pair=lambda peer: {"dropout": RATE, "attention_dropout": peer.attention_dropout},
        peers=tuple(peer for peer in PEERS if peer.attention_dropout),
    )
    yield from compare(by_default, options)


def compare_blocks(options: Options) -> Iterator[Comparison]:
    """Left out: giving freed blocks of memory back, as malloc does as glibc has it."""
    theirs = "every position, no dropout, malloc as glibc has it"
    yield from compare(Case("left out", options.deep, SAME, theirs, before=keep_own), options)
