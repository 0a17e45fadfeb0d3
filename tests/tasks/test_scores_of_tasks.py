"""Bits per byte, exact match, token accuracy and the n-gram, against their definitions."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused
from small_runs import DEFAULT_CELL
from tokenizers import Tokenizer
from torch import nn

from zoo.components.baseline.ngram import NGram
from zoo.components.tokens import Tokens
from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.data.batches import Blocks, PairSplit
from zoo.data.encoding import END, START, encode_pairs, encode_stream
from zoo.data.sources.corpus import IGNORED, Texts
from zoo.data.sources.load_data import load_data
from zoo.data.sources.row_reader import PairedTexts
from zoo.data.tokenizer import PAD_ID
from zoo.errors import ZooError
from zoo.models.decoding import Decoding, transduce
from zoo.registry import Registry
from zoo.registry.cell import Cell
from zoo.registry.loading import load
from zoo.tasks.base import Evaluation, TaskSetup
from zoo.tasks.lm import LanguageModelling, PlainTextOptions
from zoo.tasks.seq2seq import SequenceToSequence, SequenceToSequenceOptions
from zoo.training.device import Runtime
from zoo.training.trainer import Trainer

RUNTIME = Runtime(torch.device("cpu"), "fp32")
quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)
TASK = SequenceToSequence()


class Fixed(nn.Module):
    """Gives the logits of the next token from a table, by the token before alone."""

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.table = table

    def forward(self, ids: torch.Tensor, tokens: Tokens) -> torch.Tensor:
        return self.table[ids]


class StreamData:
    """What a task reads of encoded data: the tokenizer, whose pieces have so many bytes."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes

    def tokenizer(self) -> Self:
        return self

    def get_vocab_size(self) -> int:
        return len(self.sizes)

    def get_vocab(self) -> dict[str, int]:
        letters = [chr(ord("a") + number) * size for number, size in enumerate(self.sizes)]
        return {piece or " ": number for number, piece in enumerate(letters)}


def values(evaluation: Evaluation, registry: Registry, names: Sequence[str]) -> dict[str, float]:
    """The values of registered metrics."""
    return {
        name: registry.choose("metric", name).build().compute(evaluation.outputs) for name in names
    }


def test_bits_per_byte_are_the_nats_of_all_tokens_over_the_bytes_they_stand_for(registry):
    table = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))
    sizes = [0, 1, 1, 3, 2]
    stream = np.array([0, 1, 3, 2, 4, 0, 3, 3, 1, 2, 0, 4], dtype=np.int32)
    blocks = Blocks(stream, 4, torch.device("cpu"), short=True)
    data = StreamData(sizes)
    task = LanguageModelling()
    setup = TaskSetup(
        LanguageModelling(), PlainTextOptions(), Sizes(max_length=4), Training(), 5, [], data
    )
    evaluation = task.evaluate(setup, Fixed(table), blocks, RUNTIME)
    metrics = values(evaluation, registry, task.metrics)
    shares = torch.softmax(table.double(), dim=1).tolist()
    nats = [-math.log(shares[a][b]) for a, b in itertools.pairwise(stream)]
    size = sum(sizes[token] for token in stream[1:])
    assert evaluation.details["bytes"] == size == 17
    assert evaluation.details["tokens"] == evaluation.details["examples"] == 11
    assert metrics["nats_per_token"] == pytest.approx(sum(nats) / 11, rel=1e-5)
    assert metrics["bits_per_byte"] == pytest.approx(sum(nats) / math.log(2) / size, rel=1e-5)
    assert evaluation.details["perplexity"] == pytest.approx(math.exp(sum(nats) / 11), rel=1e-5)


def witten_bell(train: list[int], text: list[int], vocabulary: int, order: int) -> list[float]:
    """The formula of the docstring, history by history, with dictionaries."""

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
def test_the_ngram_is_that_of_witten_and_bell(train, text, order):
    model = NGram(vocab_size=5, order=order)
    model.fit(np.array(train))
    nats = model.nats(np.array(text)).tolist()
    assert nats == pytest.approx(witten_bell(train, text, 5, order))


@pytest.mark.parametrize("order", [0, 64])
def test_an_impossible_order_is_refused(order):
    with pytest.raises(ValueError, match="order"):
        NGram(vocab_size=1000, order=order)


@pytest.fixture
def setup() -> TaskSetup:
    """A little copying task."""
    sizes = Sizes(dim=32, heads=2, ffn_dim=64, layers=1, max_length=10)
    pairs, _ = load_data(
        load().registry, "copy(train=300, test=40, shortest=1, longest=3)", PairedTexts()
    )
    encoded = encode_pairs(pairs, 300, 10)
    training = Training(epochs=6, lr=0.02, batch_size=16, dropout=0.0)
    options = SequenceToSequenceOptions()
    return TaskSetup(TASK, options, sizes, training, encoded.vocab_size, [], encoded)


def test_exact_match_counts_targets_generated_word_for_word(registry, setup):
    encoded = setup.data
    model = TASK.build(setup, Cell.parse(registry, DEFAULT_CELL), seed=0)
    train, test = TASK.splits(setup, RUNTIME.device)
    loss = functools.partial(TASK.loss, setup)
    trainer = Trainer(model, train, loss, setup.training, RUNTIME, 0)
    while not trainer.finished:
        trainer.run_epoch()
    evaluation = TASK.evaluate(setup, model, test, RUNTIME)
    metrics = values(evaluation, registry, TASK.metrics)
    tokenizer = Tokenizer.from_file(str(encoded.tokenizer_path))
    rows = PairSplit(encoded, ["test"], torch.device("cpu"))
    right = []
    decoding = Decoding(9, end=END, banned=(PAD_ID, START))
    for row, target in enumerate(encoded.corpus().test.targets):
        alone = rows.batch(np.array([row]))  # one by one: without any padding
        (generated,) = transduce(model, alone.ids, decoding, start=START)
        ids = generated.ids
        right.append(tokenizer.decode([i for i in ids if i > 2]).strip() == target)
    assert metrics["exact_match"] == pytest.approx(np.mean(right))
    assert evaluation.details["errors"] == [[row] for row, r in enumerate(right) if not r]
    assert 0 < sum(right) < 40
    assert evaluation.details["examples"] == 40


def test_token_accuracy_counts_the_end_and_no_padding(registry, setup):
    model = TASK.build(setup, Cell.parse(registry, DEFAULT_CELL), seed=0)
    _, test = TASK.splits(setup, RUNTIME.device)
    evaluation = TASK.evaluate(setup, model, test, RUNTIME)
    rows, right, items = PairSplit(setup.data, ["test"], torch.device("cpu")), 0, 0
    with torch.inference_mode():
        for row in range(len(rows)):
            batch = rows.batch(np.array([row]))
            right += int((TASK.forward(model, batch).argmax(dim=-1) == batch.targets).sum())
            items += batch.targets.numel()
    assert values(evaluation, registry, TASK.metrics)["token_accuracy"] == pytest.approx(
        right / items
    )


def test_a_share_for_validation_is_of_the_training_pairs(setup):
    training = setup.training.model_copy(update={"validation": 0.1})
    train, held_out = TASK.splits(replace(setup, training=training), RUNTIME.device)
    assert (len(train), len(held_out)) == (270, 30)
    assert not set(map(tuple, _sources(train))) & set(map(tuple, _sources(held_out)))
    least = setup.training.model_copy(update={"validation": 0.001})
    splits = TASK.splits(replace(setup, training=least), RUNTIME.device)
    assert [len(split) for split in splits] == [299, 1]


def _sources(split: PairSplit) -> list[list[int]]:
    return [split.batch(np.array([row])).ids[0].tolist() for row in range(len(split))]


def test_no_pair_left_to_train_on_is_refused(setup):
    training = setup.training.model_copy(update={"validation": 0.999})
    with pytest.raises(ZooError, match=r"--validation 0\.999 leaves nothing to train on"):
        TASK.splits(replace(setup, training=training), RUNTIME.device)


def test_the_loss_of_pairs_is_of_their_targets_without_padding(registry, setup):
    model = TASK.build(setup, Cell.parse(registry, DEFAULT_CELL), seed=0).eval()
    batch = PairSplit(setup.data, ["test"], RUNTIME.device).batch(np.arange(8))
    loss, right = TASK.loss(setup, model, batch)
    logits, real = TASK.forward(model, batch), batch.targets != IGNORED
    assert not real.all()
    wanted = nn.functional.cross_entropy(logits[real], batch.targets[real])
    torch.testing.assert_close(loss, wanted)
    assert int(right) == int((logits.argmax(-1) == batch.targets)[real].sum())


@pytest.fixture
def stream() -> TaskSetup:
    """A language model of some 300 tokens."""
    text = "the owl saw the fox run over hills till dawn " * 30
    book = Texts("book", {"train": ([text],), "validation": (["a fox saw the owl " * 9],)})
    encoded = encode_stream(book, 280, 16)
    sizes = Sizes(dim=16, heads=2, ffn_dim=32, layers=1, max_length=16)
    task = LanguageModelling()
    vocabulary = encoded.vocab_size
    return TaskSetup(task, PlainTextOptions(), sizes, Training(), vocabulary, [], encoded)


def test_the_ngram_is_scored_on_the_tokens_and_blocks_of_the_cells(registry, stream):
    task = LanguageModelling()
    train, ids = (stream.data.split(name).ids.tolist() for name in ("train", "validation"))
    # The last block has one token to give.
    length = next(n for n in range(4, len(ids)) if (len(ids) - 1) % n == 1)
    sizes = stream.sizes.model_copy(update={"max_length": length})
    stream = replace(stream, sizes=sizes)
    model = task.build(stream, Cell.parse(registry, DEFAULT_CELL), seed=0)
    of_cell = task.evaluate(stream, model, task.splits(stream, RUNTIME.device)[1], RUNTIME)
    ngram = task.estimator(stream, registry.choose("baseline", "ngram(order=3)"))
    assert ngram is not None
    evaluation = ngram.score(ngram.fit())
    for name in ("tokens", "bytes"):
        assert evaluation.outputs[name] == of_cell.outputs[name]
    blocks = [ids[start : start + length + 1] for start in range(0, len(ids) - 1, length)]
    size = stream.data.vocab_size
    wanted = math.fsum(n for block in blocks for n in witten_bell(train, block, size, 3))
    assert evaluation.outputs["nats"] == pytest.approx(wanted)


def test_the_end_of_a_text_is_held_out_for_validation(stream):
    task, whole = LanguageModelling(), stream.data.split("train").ids
    half = replace(stream, training=stream.training.model_copy(update={"validation": 0.5}))
    seen = [b.ids for split in task.splits(half, RUNTIME.device) for b in split.ordered(1)]
    cut = len(whole) - round(len(whole) / 2)
    train, held_out = task.splits(half, RUNTIME.device)
    assert seen[0][0].tolist() == whole[:16].tolist()
    (first, *_) = held_out.ordered(1)
    assert first.ids[0].tolist() == whole[cut : cut + 16].tolist()
    assert len(train) == (cut - 1) // 16
    most = replace(stream, training=stream.training.model_copy(update={"validation": 0.99}))
    refused(r"leaves .* tokens to train on: too few", task.splits, most, RUNTIME.device)
