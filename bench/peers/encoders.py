"""An encoder of each library and ours that equals it: equal work, and what the zoo leaves out."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

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
    Turns,
    inference,
    matrix_products,
    our_name,
    random_batches,
    take_turns,
    training,
)
from zoo.measure.turns import Work, centre_and_error
from zoo.training.device import Runtime

MATRIX = "matrix products"
SAME = "every position, no dropout, blocks kept"
TRAINING_REACH, INFERENCE_REACH = 1.1, 1.0
BATCHES = (1, 16, 64)  # texts at once, in inference
RATE = 0.1  # of dropout: the default of the zoo, of BERT and of torch


@dataclass(frozen=True)
class Case:
    """What is timed, and what each side computes of it.

    pair: more options of ``model_pair`` for a peer. training: forward, backward and AdamW; else
    the logits alone. reach: the goal.
    """

    kind: Kind
    shape: Shape
    ours: str
    theirs: str
    pair: Callable[[PeerModel], dict[str, Any]] = field(default=lambda peer: {})
    training: bool = True
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
    steps: dict[str, Work] = {}
    compared: list[tuple[str, str]] = []
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
        compared.append((peer.name, our_name(peer.name)))
    if not steps:
        return
    steps[MATRIX], product_flops = matrix_products(runtime, quick=options.quick)
    turns = take_turns(steps, options, compared)
    for name, own in compared:
        yield measured(
            case.kind,
            case.work,
            name,
            turns.logs(name, own),
            runtime,
            check=turns.logs(COPY, copied),
            contention=turns.contention,
            reach=case.reach,
            sizes=shape.description,
            ours=case.ours,
            theirs=case.theirs,
            seconds={"ours": turns.median(own), "theirs": turns.median(name)},
            matrix_share=_matrix_share(case, turns, own, product_flops),
        )


def _matrix_share(case: Case, turns: Turns, own: str, flops: int) -> float | None:
    """Our rate divided by that of the products.

    None where operations are left out that the formula counts.
    """
    if case.kind != "equal":
        return None
    rate = math.exp(centre_and_error([turns.logs(MATRIX, own)])[0]) / flops
    whole = case.shape.training_flops()
    # The backward pass costs twice as much as the forward pass.
    return float(f"{rate * (whole if case.training else whole / 3):.4g}")


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
        yield from compare(replace(equal, shape=shape), options)


def compare_inference(options: Options) -> Iterator[Comparison]:
    """Equal work: logits in evaluation mode, of one text and of several at once."""
    equal = Case("equal", DEFAULT, SAME, SAME, reach=INFERENCE_REACH, peers=(*PEERS, X_ROTARY))
    for batch in BATCHES:
        shape = replace(options.deep, batch=batch)
        yield from compare(replace(equal, shape=shape, training=False), options)


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
