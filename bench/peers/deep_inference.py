"""The deep encoder in evaluation mode: one text, and 64 at once."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace

from bench.peers.comparison import Comparison, measured, skipped
from bench.peers.deep_training import gpu_seconds
from bench.peers.model_pairs import PEERS, MissingError, check_equal_logits, model_pair
from bench.peers.options import Options
from bench.peers.steps import COPY, allocate_as_usual, inference, our_name, random_batches
from bench.peers.turns import Step, ratio, time_in_turns

STEPS = {1: 10, 64: 1}  # batch size to steps of a turn


def compare(options: Options) -> Iterator[Comparison]:
    """Each peer in evaluation mode against the cell that computes the same."""
    runtime = options.runtime
    pairs = {}
    for peer in PEERS:
        try:
            pairs[peer] = model_pair(peer, options.deep)
        except MissingError as missing:
            yield skipped("inference", peer.name, missing, runtime)
    for batch_size, count in STEPS.items():
        shape = replace(options.deep, batch=batch_size)
        batches = random_batches(shape, runtime.device, 1)
        steps: dict[str, Step] = {}
        for peer, (ours, theirs) in pairs.items():
            check_equal_logits(peer, ours, theirs, batches[0], runtime)
            if not steps:
                steps[COPY] = inference(copy.deepcopy(ours), batches, runtime)
                copied = our_name(peer.name)
            steps[our_name(peer.name)] = inference(ours, batches, runtime)
            steps[peer.name] = inference(theirs, batches, runtime)
        times = time_in_turns(
            steps,
            rounds=options.rounds,
            count=count,
            synchronise=runtime.synchronise,
            before=allocate_as_usual,
        )
        for peer in pairs:
            own = our_name(peer.name)
            yield measured(
                f"inference, batch {batch_size}",
                peer.name,
                ratio(times[peer.name], times[own]),
                runtime,
                rounds=options.rounds,
                reach=1.0,
                noise=ratio(times[COPY], times[copied]),
                detail=shape.description,
                seconds=gpu_seconds(runtime, times, peer.name, own),
            )
