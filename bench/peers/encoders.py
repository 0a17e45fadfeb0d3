"""An encoder of each library and ours that equals it."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from bench.peers.comparison import Comparison, measured, skipped
from bench.peers.model_pairs import (
    PEERS,
    X_ROTARY,
    MissingError,
    PeerModel,
    check_equal_on_batch,
    model_pair,
)
from bench.peers.options import Options, Shape
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

MATRIX = "matrix products"
SAME = "every position, no dropout, blocks kept"
TRAINING_REACH, INFERENCE_REACH = 1.1, 1.0
BATCHES = (1, 16, 64)  # texts at once, in inference


@dataclass(frozen=True)
class Case:
    """What is timed.

    training: forward, backward and AdamW; else the logits alone. reach: the goal.
    """

    shape: Shape
    training: bool
    reach: float
    peers: tuple[PeerModel, ...] = field(default_factory=lambda: (*PEERS, X_ROTARY))

    @property
    def work(self) -> str:
        """What is timed, in a word."""
        return "training" if self.training else "inference"


def compare(case: Case, options: Options) -> Iterator[Comparison]:
    """Each peer and the cell that equals it, on the same batches in the same order.

    Equal logits and gradients on a batch that is timed are asserted first, without dropout.
    """
    runtime, shape = options.runtime, case.shape
    batches = random_batches(shape, runtime.device, 2 if case.training else 1)
    make = training if case.training else inference
    steps: dict[str, Work] = {}
    compared: list[tuple[str, str]] = []
    for peer in case.peers:
        try:
            ours, theirs = model_pair(peer, shape)
        except MissingError as missing:
            yield skipped(case.work, peer.name, missing, runtime)
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
            case.work,
            name,
            turns.logs(name, own),
            runtime,
            check=turns.logs(COPY, copied),
            contention=turns.contention,
            reach=case.reach,
            sizes=shape.description,
            ours=SAME,
            seconds={"ours": turns.median(own), "theirs": turns.median(name)},
            matrix_share=_matrix_share(case, turns, own, product_flops),
        )


def _matrix_share(case: Case, turns: Turns, own: str, flops: int) -> float:
    """Our rate divided by that of the products."""
    rate = math.exp(centre_and_error([turns.logs(MATRIX, own)])[0]) / flops
    whole = case.shape.training_flops()
    # The backward pass costs twice as much as the forward pass.
    return float(f"{rate * (whole if case.training else whole / 3):.4g}")


def compare_training(options: Options) -> Iterator[Comparison]:
    """Forward, backward and AdamW at several sizes."""
    for shape in options.trained:
        yield from compare(Case(shape, training=True, reach=TRAINING_REACH), options)


def compare_inference(options: Options) -> Iterator[Comparison]:
    """Logits in evaluation mode, of one text and of several at once."""
    for batch in BATCHES:
        shape = replace(options.deep, batch=batch)
        yield from compare(Case(shape, training=False, reach=INFERENCE_REACH), options)
