"""The deep encoder in evaluation, one text and 64 at once."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace

from bench.peers.deep import on_gpu
from bench.peers.lines import Line, machine, made
from bench.peers.options import Options
from bench.peers.rivals import (
    PEERS,
    MissingError,
    as_it_comes,
    inference,
    must_agree_on,
    pair,
    random_batches,
)
from bench.peers.timing import race, ratio

BATCHES = (1, 64)
PIECES = {1: 10, 64: 1}


def against_peers(options: Options) -> Iterator[Line]:
    """Each peer in eval mode against the cell that is the same function."""
    runtime = options.runtime
    pairs = {}
    for peer in PEERS:
        try:
            pairs[peer.name] = pair(peer, options.deep)
        except MissingError as missing:
            yield Line(
                work="inference", against=peer.name, skipped=str(missing), **machine(runtime)
            )
    for batch in BATCHES:
        shape = replace(options.deep, batch=batch)
        batches = random_batches(shape, runtime.device, 1)
        contenders = {}
        for name, (ours, theirs) in pairs.items():
            must_agree_on(name, ours, theirs, batches[0], runtime)
            contenders[f"ours as {name}"] = inference(ours, batches, runtime)
            contenders[name] = inference(theirs, batches, runtime)
        first = next(iter(pairs))
        contenders["itself"] = inference(copy.deepcopy(pairs[first][0]), batches, runtime)
        times = race(
            contenders,
            rounds=options.rounds,
            pieces=PIECES[batch],
            synchronise=runtime.synchronise,
            before=as_it_comes,
        )
        noise = ratio(times["itself"], times[f"ours as {first}"]).ratio
        for name in pairs:
            ours_name = f"ours as {name}"
            yield made(
                f"inference, batch {batch}",
                name,
                ratio(times[name], times[ours_name]),
                runtime,
                rounds=options.rounds,
                reach=1.0,
                noise=round(noise, 4),
                detail=shape.words,
                seconds=on_gpu(runtime, times, name, ours_name),
            )
