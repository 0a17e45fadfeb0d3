"""An encoder of each library and ours that equals it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from bench.peers.comparison import Comparison, measured, skipped
from bench.peers.model_pairs import (
    PEERS,
    X_ROTARY,
    MissingError,
    PeerModel,
    UnequalError,
    check_equal_on_batch,
    model_pair,
)
from bench.peers.steps import (
    COPY,
    Batch,
    Options,
    Shape,
    inference,
    our_name,
    random_batches,
    take_turns,
    training,
)
from zoo.measure.turns import Work

SAME = "every position, no dropout, blocks kept"
UNEQUAL = "not timed"  # begins the reason why an unequal peer is left out
BATCHES = (1, 16, 64)  # texts at once, in inference


def compare(
    work: str,
    peers: Sequence[PeerModel],
    shape: Shape,
    batches: Sequence[Batch],
    make: Callable[..., Work],
    options: Options,
    **about: str,
) -> Iterator[Comparison]:
    """Each peer and the cell that equals it, on the same batches in the same order.

    Logits and gradients must be equal on the first batch and the last, without dropout: a peer that
    differs is left out, with the reason, and the others are timed.
    make: of a model, the batches and the runtime, a step to be timed. about: fields of comparisons.
    """
    runtime = options.runtime
    steps: dict[str, Work] = {}
    compared: list[tuple[str, str]] = []
    for peer in peers:
        try:
            ours, theirs = model_pair(peer, shape)
            for batch in (batches[0], batches[-1]):
                check_equal_on_batch(peer, ours, theirs, batch, runtime)
        except (MissingError, UnequalError) as error:
            reason = error if isinstance(error, MissingError) else f"{UNEQUAL}: {error}"
            yield skipped(work, peer.name, reason, runtime)
            continue
        if not compared:
            steps[COPY] = make(copy.deepcopy(ours), batches, runtime)
        compared.append((peer.name, our_name(peer.name)))
        steps[our_name(peer.name)] = make(ours, batches, runtime)
        steps[peer.name] = make(theirs, batches, runtime)
    if not compared:
        return
    turns = take_turns(steps, options, compared)
    for name, own in compared:
        yield measured(
            work,
            name,
            turns.logs(name, own),
            runtime,
            check=turns.logs(COPY, compared[0][1]),
            contention=turns.contention,
            **about,
        )


def compare_training(options: Options) -> Iterator[Comparison]:
    """Forward, backward and AdamW at several sizes."""
    for shape in options.trained:
        batches = random_batches(shape, options.runtime.device)
        about = {"sizes": shape.description, "ours": SAME}
        yield from compare(
            "training", (*PEERS, X_ROTARY), shape, batches, training, options, **about
        )


def compare_inference(options: Options) -> Iterator[Comparison]:
    """Logits in evaluation mode, of one text and of several at once."""
    for count in BATCHES:
        shape = replace(options.deep, batch=count)
        batches = random_batches(shape, options.runtime.device, 1)
        about = {"sizes": shape.description, "ours": SAME}
        yield from compare(
            "inference", (*PEERS, X_ROTARY), shape, batches, inference, options, **about
        )
