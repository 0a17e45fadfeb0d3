"""Texts at their own lengths: ours batched by length, the peers' as they come."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

import numpy as np

from bench.peers.lines import Line, machine, made
from bench.peers.news import corpus
from bench.peers.options import CLASSES, Options, Shape
from bench.peers.rivals import (
    PEERS,
    Batch,
    MissingError,
    as_it_comes,
    must_agree_on,
    pair,
    random_batches,
    training,
)
from bench.peers.timing import Work, race, ratio
from zoo.components.tokens import Tokens
from zoo.data.batching.document_batches import Split
from zoo.data.encoding.encoded_documents import encode
from zoo.measure.allocator import keep_blocks

WORK = "ragged text"
LENGTH = 2048
BATCHES, BATCH_SIZE = 4, 8
ROUNDS = 3  # at most; a round takes most of a minute on two cores


def against_peers(options: Options) -> Iterator[Line]:
    """The peers, padded per batch as they come, on the same documents."""
    runtime, shape = options.runtime, _shape(options)
    try:
        split = documents(options, shape)
    except MissingError as missing:
        yield Line(work=WORK, against="the peers", skipped=str(missing), **machine(runtime))
        return
    by_length = sample(split)
    rows = np.concatenate(by_length)
    np.random.default_rng(0).shuffle(rows)
    ours_batches = [_batch(split, one) for one in by_length]
    their_batches = [_batch(split, one) for one in np.array_split(rows, BATCHES)]
    # As many tokens in rows of one length, which is what the ratio is to be held against.
    tokens = int(split.lengths[rows].sum())
    even = Shape(shape.sizes, BATCH_SIZE, max(1, tokens // len(rows)))
    even_batches = random_batches(even, runtime.device, BATCHES)
    rounds = min(options.rounds, ROUNDS)
    contenders: dict[str, Work] = {}
    first = ""
    for peer in PEERS:
        try:
            ours, theirs = pair(peer, shape)
        except MissingError as missing:
            yield Line(work=WORK, against=peer.name, skipped=str(missing), **machine(runtime))
            continue
        # The shortest batch and the longest, with padding and with next to none.
        for batch in (ours_batches[0], their_batches[0], ours_batches[-1]):
            must_agree_on(peer.name, ours, theirs, batch, runtime)
        for name, model, batches in (
            (f"ours as {peer.name}", ours, ours_batches),
            (peer.name, theirs, their_batches),
        ):
            contenders[name] = training(copy.deepcopy(model), batches, runtime)
            contenders[f"{name}, even"] = training(model, even_batches, runtime)
        if not first:
            first = f"ours as {peer.name}"
            contenders["itself"] = training(copy.deepcopy(ours), ours_batches, runtime)
    times = race(
        contenders,
        rounds=rounds,
        pieces=BATCHES,
        synchronise=runtime.synchronise,
        before=as_it_comes,
    )
    padded = sum(b[0].numel() for b in their_batches) / tokens
    noise = round(ratio(times["itself"], times[first], summed=True).ratio, 4)
    for peer in PEERS:
        if peer.name not in times:
            continue
        name = f"ours as {peer.name}"
        level = ratio(times[f"{peer.name}, even"], times[f"{name}, even"], summed=True)
        yield made(
            WORK,
            peer.name,
            ratio(times[peer.name], times[name], summed=True),
            runtime,
            rounds=rounds,
            reach=round(level.ratio, 4),
            noise=noise,
            detail=(
                f"{len(rows)} documents of {int(split.lengths[rows].min())} to "
                f"{int(split.lengths[rows].max())} tokens, theirs {padded:.2f} x as many with "
                f"padding; reach: the ratio on as many tokens in rows of {even.length}"
            ),
        )


def padding_cost(options: Options) -> Iterator[Line]:
    """Ours with the padding that is left in batches by length, and without any.

    Without: as many real tokens in each batch, evened out over its rows, and no mask.
    """
    runtime, shape = options.runtime, _shape(options)
    against = "ours without padding"
    try:
        split = documents(options, shape)
    except MissingError as missing:
        yield Line(work=WORK, against=against, skipped=str(missing), **machine(runtime))
        return
    ours, _ = pair(PEERS[-1], shape, pool="mean")  # torch's encoder, which everybody has
    chosen = sample(split)
    batches = [_batch(split, rows) for rows in chosen]
    even = [_evened(split, rows) for rows in chosen]
    contenders = {
        "padded": training(ours, batches, runtime),
        "even": training(copy.deepcopy(ours), even, runtime),
        "itself": training(copy.deepcopy(ours), even, runtime),
    }
    keep_blocks()
    times = race(contenders, rounds=options.rounds, pieces=BATCHES, synchronise=runtime.synchronise)
    every = list(split.shuffled(BATCH_SIZE, seed=0, epoch=0))
    share = sum(b.padded_tokens for b in every) / sum(b.real_tokens for b in every)
    yield made(
        WORK,
        against,
        ratio(times["padded"], times["even"], summed=True),
        runtime,
        rounds=options.rounds,
        reach=1.05,
        bound="at most",
        noise=round(ratio(times["itself"], times["even"], summed=True).ratio, 4),
        detail=f"batches of {BATCH_SIZE}; a whole epoch is padded to {share:.3f} x its tokens",
    )


def _shape(options: Options) -> Shape:
    length = 64 if options.quick else LENGTH
    sizes = options.deep.sizes.model_copy(update={"max_length": length})
    return Shape(sizes, BATCH_SIZE, length)


def documents(options: Options, shape: Shape) -> Split:
    """The training articles as ids, each at its own length."""
    texts = corpus(options)
    # The tokenizer may find fewer pieces than asked for on few texts, never more.
    encoded = encode(texts, shape.sizes.vocab_size, shape.sizes.max_length)
    return Split(encoded.split("train"), options.runtime.device)


def sample(split: Split) -> list[np.ndarray]:
    """The rows of a few of an epoch's batches, spread over the lengths."""
    batches = [b for b in split.shuffled(BATCH_SIZE, seed=0, epoch=0) if len(b.rows) == BATCH_SIZE]
    batches.sort(key=lambda b: b.padded_tokens)
    spots = (np.arange(BATCHES) + 0.5) / BATCHES * len(batches)
    return [batches[int(spot)].rows for spot in spots]


def _batch(split: Split, rows: np.ndarray) -> Batch:
    batch = split.batch(np.asarray(rows))
    return batch.ids, batch.tokens, batch.labels % CLASSES


def _evened(split: Split, rows: Sequence[int] | np.ndarray) -> Batch:
    """As many tokens and rows, all rows of one length."""
    batch = split.batch(np.asarray(rows))
    length = max(1, round(batch.real_tokens / len(batch.rows)))
    ids = batch.ids[:, :length].clamp_min(1)
    return ids, Tokens.whole(length, ids.device), batch.labels % CLASSES
