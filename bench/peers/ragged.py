"""Texts of their own lengths, in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch import nn

from bench.peers import encoders
from bench.peers.comparison import Comparison, skipped
from bench.peers.encoders import SAME
from bench.peers.model_pairs import PEERS, MissingError
from bench.peers.steps import CLASSES, Batch, Options, Shape, training
from zoo.data.batches import PaddedSplit
from zoo.data.encoding import encode_labelled
from zoo.data.sources.corpus import Corpus
from zoo.data.sources.load_data import load_corpus
from zoo.errors import ZooError
from zoo.measure.turns import Work
from zoo.registry import loading
from zoo.training.device import Runtime

WORK = "training on articles"
LENGTH = 2048
BATCHES, BATCH_SIZE = 4, 8
QUICK = "newswire(train=120,test=60)"


def compare(options: Options) -> Iterator[Comparison]:
    """The same documents in batches of similar length, each padded to its longest."""
    runtime, shape = options.runtime, _shape(options)
    try:
        split = _documents(options, shape)
    except MissingError as missing:
        yield skipped(WORK, "the peers", missing, runtime)
        return
    sample = _sample(split)
    batches = [_batch(split, rows) for rows in sample]
    lengths = split.lengths[np.concatenate(sample)]
    padded = sum(ids.numel() for ids, _, _ in batches) / int(lengths.sum())
    sizes = (
        f"{shape.sizes.layers} layers × {shape.sizes.dim} wide, {len(lengths)} articles of "
        f"{int(lengths.min())} to {int(lengths.max())} tokens in batches of {BATCH_SIZE}"
    )
    ours = f"{SAME}; batches by length, {padded:.2f} × the tokens"
    yield from encoders.compare(WORK, PEERS, shape, batches, _pass, options, sizes=sizes, ours=ours)


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
