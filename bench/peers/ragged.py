"""Texts of their own lengths: ours in batches of similar length, the peers' in random batches."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

import numpy as np

from bench.peers.bbc_news import load_bbc_news
from bench.peers.comparison import Comparison, measured, skipped
from bench.peers.model_pairs import PEERS, TORCH, MissingError, check_equal_logits, model_pair
from bench.peers.options import CLASSES, Options, Shape
from bench.peers.steps import (
    COPY,
    Batch,
    allocate_as_usual,
    our_name,
    random_batches,
    training,
)
from bench.peers.turns import Step, ratio, time_in_turns
from zoo.components.tokens import Tokens
from zoo.data.batching.document_batches import Split
from zoo.data.encoding.encoded_documents import encode
from zoo.measure.allocator import keep_blocks

WORK = "ragged text"
LENGTH = 2048
BATCHES, BATCH_SIZE = 4, 8
MOST_ROUNDS = 3  # a round takes most of a minute on two cores


def compare(options: Options) -> Iterator[Comparison]:
    """The peers on the same documents, each batch padded to its longest."""
    runtime, shape = options.runtime, _shape(options)
    try:
        split = _documents(options, shape)
    except MissingError as missing:
        yield skipped(WORK, "the peers", missing, runtime)
        return
    by_length = _sample(split)
    rows = np.concatenate(by_length)
    np.random.default_rng(0).shuffle(rows)
    our_batches = [_batch(split, part) for part in by_length]
    their_batches = [_batch(split, part) for part in np.array_split(rows, BATCHES)]
    # The target: the ratio on as many tokens, in texts of one length.
    tokens = int(split.lengths[rows].sum())
    even = Shape(shape.sizes, BATCH_SIZE, max(1, tokens // len(rows)))
    even_batches = random_batches(even, runtime.device, BATCHES)
    rounds = min(options.rounds, MOST_ROUNDS)
    steps: dict[str, Step] = {}
    for peer in PEERS:
        try:
            ours, theirs = model_pair(peer, shape)
        except MissingError as missing:
            yield skipped(WORK, peer.name, missing, runtime)
            continue
        # The shortest and the longest batch: with much padding, and with almost none.
        for batch in (our_batches[0], their_batches[0], our_batches[-1]):
            check_equal_logits(peer, ours, theirs, batch, runtime)
        if not steps:
            steps[COPY] = training(copy.deepcopy(ours), our_batches, runtime)
            copied = our_name(peer.name)
        for name, model, batches in (
            (our_name(peer.name), ours, our_batches),
            (peer.name, theirs, their_batches),
        ):
            steps[name] = training(copy.deepcopy(model), batches, runtime)
            steps[f"{name}, even"] = training(model, even_batches, runtime)
    times = time_in_turns(
        steps,
        rounds=rounds,
        count=BATCHES,
        synchronise=runtime.synchronise,
        before=allocate_as_usual,
    )
    padded = sum(batch[0].numel() for batch in their_batches) / tokens
    for peer in PEERS:
        if peer.name not in times:
            continue
        own = our_name(peer.name)
        target = ratio(times[f"{peer.name}, even"], times[f"{own}, even"], summed=True)
        yield measured(
            WORK,
            peer.name,
            ratio(times[peer.name], times[own], summed=True),
            runtime,
            rounds=rounds,
            reach=round(target.ratio, 4),
            noise=ratio(times[COPY], times[copied], summed=True),
            detail=(
                f"{len(rows)} documents of {int(split.lengths[rows].min())} to "
                f"{int(split.lengths[rows].max())} tokens, theirs {padded:.2f} x as many with "
                f"padding; reach: the ratio on as many tokens in texts of {even.length}"
            ),
        )


def compare_padding(options: Options) -> Iterator[Comparison]:
    """Ours with the padding that batches of similar length have, against none.

    Without padding: as many real tokens and texts in each batch, all of one length, and no mask.
    """
    runtime, shape = options.runtime, _shape(options)
    against = "ours without padding"
    try:
        split = _documents(options, shape)
    except MissingError as missing:
        yield skipped(WORK, against, missing, runtime)
        return
    ours, _ = model_pair(TORCH, shape, pool="mean")
    sample = _sample(split)
    batches = [_batch(split, rows) for rows in sample]
    even = [_even_batch(split, rows) for rows in sample]
    steps = {
        "padded": training(ours, batches, runtime),
        "even": training(copy.deepcopy(ours), even, runtime),
        COPY: training(copy.deepcopy(ours), even, runtime),
    }
    keep_blocks()
    times = time_in_turns(
        steps, rounds=options.rounds, count=BATCHES, synchronise=runtime.synchronise
    )
    epoch = list(split.shuffled(BATCH_SIZE, seed=0, epoch=0))
    share = sum(b.padded_tokens for b in epoch) / sum(b.real_tokens for b in epoch)
    yield measured(
        WORK,
        against,
        ratio(times["padded"], times["even"], summed=True),
        runtime,
        rounds=options.rounds,
        reach=1.05,
        bound="at most",
        noise=ratio(times[COPY], times["even"], summed=True),
        detail=f"batches of {BATCH_SIZE}; a whole epoch is padded to {share:.3f} x its tokens",
    )


def _shape(options: Options) -> Shape:
    length = 64 if options.quick else LENGTH
    sizes = options.deep.sizes.model_copy(update={"max_length": length})
    return Shape(sizes, BATCH_SIZE, length)


def _documents(options: Options, shape: Shape) -> Split:
    """The training articles as ids, each of its own length."""
    corpus = load_bbc_news(options)
    # On few texts the vocabulary may come out smaller than asked for, never larger.
    encoded = encode(corpus, shape.sizes.vocab_size, shape.sizes.max_length)
    return Split(encoded.split("train"), options.runtime.device)


def _sample(split: Split) -> list[np.ndarray]:
    """The documents of a few of an epoch's batches, from short ones to long ones."""
    batches = [b for b in split.shuffled(BATCH_SIZE, seed=0, epoch=0) if len(b.rows) == BATCH_SIZE]
    batches.sort(key=lambda b: b.padded_tokens)
    indices = (np.arange(BATCHES) + 0.5) / BATCHES * len(batches)
    return [batches[int(index)].rows for index in indices]


def _batch(split: Split, rows: Sequence[int] | np.ndarray) -> Batch:
    batch = split.batch(np.asarray(rows))
    return batch.ids, batch.tokens, batch.labels % CLASSES


def _even_batch(split: Split, rows: Sequence[int] | np.ndarray) -> Batch:
    """As many tokens and texts as the documents have, all texts of one length."""
    batch = split.batch(np.asarray(rows))
    length = max(1, round(batch.real_tokens / len(batch.rows)))
    ids = batch.ids[:, :length].clamp_min(1)
    return ids, Tokens.whole(length, ids.device), batch.labels % CLASSES
