"""Texts of their own lengths, in batches of similar length or in random ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

import numpy as np
from torch import nn

from bench.peers.comparison import Comparison, Kind, measured, skipped
from bench.peers.encoders import SAME, TRAINING_REACH
from bench.peers.model_pairs import PEERS, TORCH, MissingError, check_equal_on_batch, model_pair
from bench.peers.options import CLASSES, Options, Shape
from bench.peers.steps import COPY, Batch, our_name, take_turns, training
from zoo.components.tokens import Tokens
from zoo.data.batches import PaddedSplit
from zoo.data.encoding import encode_labelled
from zoo.data.sources.corpus import Corpus
from zoo.data.sources.load_data import load_corpus
from zoo.errors import ZooError
from zoo.measure.turns import Work
from zoo.registry import loading
from zoo.training.device import Runtime

WORK = "training on articles"
BY_LENGTH, RANDOM = "batches by length", "random batches"
LENGTH = 2048
BATCHES, BATCH_SIZE = 4, 8
QUICK = "newswire(train=120,test=60)"


def compare(options: Options) -> Iterator[Comparison]:
    """The same documents, each batch padded to its longest: by length on both sides, then on ours.

    By length on both sides is equal work; random batches have more padding.
    """
    runtime, shape = options.runtime, _shape(options)
    try:
        split = _documents(options, shape)
    except MissingError as missing:
        yield skipped("equal", WORK, "the peers", missing, runtime)
        return
    by_length = _sample(split)
    rows = np.concatenate(by_length)
    np.random.default_rng(0).shuffle(rows)
    sorted_batches = [_batch(split, part) for part in by_length]
    random_batches = [_batch(split, part) for part in np.array_split(rows, BATCHES)]
    steps: dict[str, Work] = {}
    compared: list[tuple[str, str]] = []
    for peer in PEERS:
        try:
            ours, theirs = model_pair(peer, shape)
        except MissingError as missing:
            yield skipped("equal", WORK, peer.name, missing, runtime)
            continue
        # The shortest and the longest batch: with much padding, and with almost none.
        for batch in (sorted_batches[0], random_batches[0], sorted_batches[-1]):
            check_equal_on_batch(peer, ours, theirs, batch, runtime)
        if not steps:
            steps[COPY] = _pass(copy.deepcopy(ours), sorted_batches, runtime)
            copied = our_name(peer.name)
        steps[our_name(peer.name)] = _pass(ours, sorted_batches, runtime)
        steps[f"{peer.name}, {RANDOM}"] = _pass(copy.deepcopy(theirs), random_batches, runtime)
        steps[peer.name] = _pass(theirs, sorted_batches, runtime)
        compared.append((peer.name, our_name(peer.name)))
    turns = take_turns(steps, options, compared)
    tokens = int(split.lengths[rows].sum())
    lengths = split.lengths[rows]
    sizes = (
        f"{shape.sizes.layers} layers × {shape.sizes.dim} wide, {len(rows)} articles of "
        f"{int(lengths.min())} to {int(lengths.max())} tokens in batches of {BATCH_SIZE}"
    )
    padded = {
        name: f"{name}, {sum(batch[0].numel() for batch in batches) / tokens:.2f} × the tokens"
        for name, batches in ((BY_LENGTH, sorted_batches), (RANDOM, random_batches))
    }
    for name, own in compared:
        kinds: tuple[tuple[Kind, str, str], ...] = (
            ("equal", name, BY_LENGTH),
            ("left out", f"{name}, {RANDOM}", RANDOM),
        )
        for kind, timed, order in kinds:
            yield measured(
                kind,
                WORK,
                name,
                turns.logs(timed, own),
                runtime,
                check=turns.logs(COPY, copied),
                contention=turns.contention,
                reach=TRAINING_REACH if kind == "equal" else None,
                sizes=sizes,
                ours=f"{SAME}; {padded[BY_LENGTH]}",
                theirs=f"{SAME}; {padded[order]}",
            )


def compare_padding(options: Options) -> Iterator[Comparison]:
    """Ours with the padding that batches of similar length have, against none.

    Without padding: as many real tokens and texts in each batch, all of one length, and no mask.
    """
    runtime, shape = options.runtime, _shape(options)
    against = "the zoo without padding"
    try:
        split = _documents(options, shape)
    except MissingError as missing:
        yield skipped("own", WORK, against, missing, runtime)
        return
    ours, _ = model_pair(TORCH, shape)
    sample = _sample(split)
    batches = [_batch(split, rows) for rows in sample]
    even = [_even_batch(split, rows) for rows in sample]
    steps = {
        "padded": _pass(ours, batches, runtime),
        "even": _pass(copy.deepcopy(ours), even, runtime),
        COPY: _pass(copy.deepcopy(ours), even, runtime),
    }
    turns = take_turns(steps, options, [("padded", "even")])
    epoch = list(split.shuffled(BATCH_SIZE, seed=0, epoch=0))
    share = sum(b.padded_tokens for b in epoch) / sum(b.real_tokens for b in epoch)
    yield measured(
        "own",
        WORK,
        against,
        turns.logs("padded", "even"),
        runtime,
        check=turns.logs(COPY, "even"),
        contention=turns.contention,
        reach=1.05,
        bound="at most",
        sizes=f"{shape.sizes.layers} layers × {shape.sizes.dim} wide, "
        f"batches of {BATCH_SIZE} articles",
        ours=f"{SAME}; {BY_LENGTH}, an epoch {share:.3f} × the tokens",
        theirs=f"{SAME}; as many tokens in texts of one length, no mask",
    )


def _pass(model: nn.Module, batches: Sequence[Batch], runtime: Runtime) -> Work:
    """A training step on each of these batches, which differ in size."""
    step = training(model, batches, runtime)

    def whole(_: int) -> None:
        for number in range(len(batches)):
            step(number)

    return whole


def _shape(options: Options) -> Shape:
    length = 64 if options.quick else LENGTH
    sizes = options.deep.sizes.model_copy(update={"max_length": length})
    return Shape(sizes, BATCH_SIZE, length)


def _documents(options: Options, shape: Shape) -> PaddedSplit:
    """The training articles as ids, each of its own length."""
    corpus = load_bbc_news(options)
    # On few texts the vocabulary may come out smaller than asked for, never larger.
    encoded = encode_labelled(corpus, shape.sizes.vocab_size, shape.sizes.max_length)
    return PaddedSplit(encoded.split("train"), options.runtime.device)


def _sample(split: PaddedSplit) -> list[np.ndarray]:
    """The documents of a few of an epoch's batches, from short ones to long ones."""
    batches = [b for b in split.shuffled(BATCH_SIZE, seed=0, epoch=0) if len(b.rows) == BATCH_SIZE]
    batches.sort(key=lambda b: b.padded_tokens)
    indices = (np.arange(BATCHES) + 0.5) / BATCHES * len(batches)
    return [batches[int(index)].rows for index in indices]


def _batch(split: PaddedSplit, rows: Sequence[int] | np.ndarray) -> Batch:
    batch = split.batch(np.asarray(rows))
    return batch.ids, batch.tokens, batch.targets % CLASSES


def _even_batch(split: PaddedSplit, rows: Sequence[int] | np.ndarray) -> Batch:
    """As many tokens and texts as the documents have, all texts of one length."""
    batch = split.batch(np.asarray(rows))
    length = max(1, round(batch.real_tokens / len(batch.rows)))
    ids = batch.ids[:, :length].clamp_min(1)
    return ids, Tokens.whole(length, ids.device), batch.targets % CLASSES


def load_bbc_news(options: Options) -> Corpus:
    """The articles, from ``--data`` or the Hub; made-up ones with ``--quick``.

    Raises MissingError where they cannot be had.
    """
    spec = str(options.data) if options.data else QUICK if options.quick else "bbc-news"
    try:
        corpus, _ = load_corpus(loading.load().registry, spec)
    except ZooError as error:
        raise MissingError(
            f"needs BBC news ({' '.join(str(error).split())}): --data DIR with its train and "
            "test files"
        ) from error
    return corpus
