"""Bits per byte, exact match and the n-gram, against what they are by definition."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from zoo.tasks.language import language_scores
from zoo.tasks.transducing import TransductionLearner, write

from zoo.components.baseline.ngram import NGram
from zoo.components.tokens import Tokens
from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.data.batching.block_batches import Blocks
from zoo.data.batching.pair_batches import PairSplit
from zoo.data.encoding.encoded_pairs import EncodedPairs, encode_pairs
from zoo.data.sources.pairs import load_pairs
from zoo.execution.base import Setting
from zoo.registry import AXES, Registry
from zoo.registry.cell import Cell
from zoo.train.device import Runtime

RUNTIME = Runtime(torch.device("cpu"), "fp32")
quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)
PLAIN = dict(zip(AXES, ("fused", "rope", "layer", "gelu", "pre", "mean"), strict=True))


class Fixed(nn.Module):
    """Expects every token by the token before it alone, as a table says."""

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.table = table

    def forward(self, ids: torch.Tensor, tokens: Tokens) -> torch.Tensor:
        return self.table[ids]


def test_bits_per_byte_are_the_nats_of_all_tokens_over_the_bytes_they_stand_for() -> None:
    table = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))
    sizes = [0, 1, 1, 3, 2]
    stream = np.array([0, 1, 3, 2, 4, 0, 3, 3, 1, 2, 0, 4], dtype=np.int32)
    blocks = Blocks(stream, 4, torch.device("cpu"), short=True)
    found = language_scores(Fixed(table), blocks, torch.tensor(sizes), RUNTIME)
    shares = torch.softmax(table.double(), dim=1).tolist()
    nats = [-math.log(shares[a][b]) for a, b in itertools.pairwise(stream)]
    size = sum(sizes[token] for token in stream[1:])
    assert found["bytes"] == size == 17
    assert found["tokens"] == 11
    assert found["validation_loss"] == pytest.approx(sum(nats) / 11, rel=1e-5)
    assert found["bits_per_byte"] == pytest.approx(sum(nats) / math.log(2) / size, rel=1e-5)
    assert found["perplexity"] == pytest.approx(math.exp(sum(nats) / 11), rel=1e-5)


def witten_bell(train: list[int], text: list[int], vocabulary: int, order: int) -> list[float]:
    """The formula of the docstring, run by run with dictionaries."""

    def share(history: tuple[int, ...], word: int) -> float:
        lower = 1 / vocabulary if not history else share(history[1:], word)
        size = len(history)
        after = Counter(
            train[i + size]
            for i in range(len(train) - size)
            if tuple(train[i : i + size]) == history
        )
        count, kinds = sum(after.values()), len(after)
        return (after[word] + kinds * lower) / (count + kinds) if count else lower

    return [
        -math.log(share(tuple(text[max(0, i - order + 1) : i]), text[i]))
        for i in range(1, len(text))
    ]


IDS = st.lists(st.integers(0, 4), min_size=3, max_size=30)


@quick
@given(IDS, IDS, st.integers(1, 4))
def test_the_ngram_is_witten_bells(train: list[int], text: list[int], order: int) -> None:
    model = NGram(vocab_size=5, order=order)
    model.fit(np.array(train))
    found = model.nats(np.array(text)).tolist()
    assert found == pytest.approx(witten_bell(train, text, 5, order))


@pytest.mark.parametrize("order", [0, 64])
def test_an_order_that_cannot_be_is_refused(order: int) -> None:
    with pytest.raises(ValueError, match="order"):
        NGram(vocab_size=1000, order=order)


def transduction(registry: Registry) -> tuple[TransductionLearner, EncodedPairs, nn.Module]:
    """An encoder-decoder that learned a little, so that some answers are right and some not."""
    sizes = Sizes(dim=32, heads=2, hidden=64, layers=1, max_length=10)
    pairs = load_pairs("copy(train=300, test=40, shortest=1, longest=3)")
    encoded = encode_pairs(pairs, 300, 10)
    training = Training(epochs=12, lr=0.01, batch_size=16, dropout=0.0)
    setting = Setting(
        str(encoded.directory), sizes, training, Execution(device="cpu"), task="seq2seq", beam=3
    )
    learner = TransductionLearner(setting)
    return learner, encoded, learner.build(Cell.parse(registry, PLAIN), seed=0)


def test_exact_match_is_what_is_written_word_for_word(registry: Registry) -> None:
    from tokenizers import Tokenizer

    from zoo.train.trainer import Trainer

    learner, encoded, model = transduction(registry)
    train, test = learner.splits(RUNTIME, 0.0)
    trainer = Trainer(model, train, learner.loss, learner.setting.training, RUNTIME, 0)
    while not trainer.finished:
        trainer.run_epoch()
    found = learner.score(model, test, RUNTIME)
    tokenizer = Tokenizer.from_file(str(encoded.tokenizer_path))
    rows = PairSplit(encoded, "test", torch.device("cpu"))
    for beams, name in ((1, "exact_match"), (3, "exact_match_beam")):
        right = []
        for row, target in enumerate(encoded.targets("test")):
            alone = rows.batch(np.array([row]))  # one by one: without any padding
            (ids,) = write(model, alone.source, None, beams, 10)
            right.append(tokenizer.decode([i for i in ids if i > 2]).strip() == target)
        assert found[name] == pytest.approx(np.mean(right)), name
        if beams == 1:
            assert found["errors"] == [[row] for row, r in enumerate(right) if not r]
            assert 0 < sum(right) < 40
    assert found["documents"] == 40


def test_token_accuracy_counts_the_end_and_no_padding(registry: Registry) -> None:
    learner, encoded, model = transduction(registry)
    _, test = learner.splits(RUNTIME, 0.0)
    found = learner.score(model, test, RUNTIME)
    rows, right, items = PairSplit(encoded, "test", torch.device("cpu")), 0, 0
    with torch.inference_mode():
        for row in range(len(rows)):
            batch = rows.batch(np.array([row]))
            right += int((learner.run(model, batch).argmax(dim=-1) == batch.next).sum())
            items += batch.next.numel()
    assert found["token_accuracy"] == pytest.approx(right / items)


def test_a_share_for_validation_is_of_the_training_pairs(registry: Registry) -> None:
    learner, _, _ = transduction(registry)
    train, held = learner.splits(RUNTIME, 0.1)
    assert (len(train), len(held)) == (270, 30)
    assert not set(map(tuple, _sources(train))) & set(map(tuple, _sources(held)))


def _sources(split: PairSplit) -> list[list[int]]:
    return [split.batch(np.array([row])).source[0].tolist() for row in range(len(split))]
