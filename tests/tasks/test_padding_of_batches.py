"""What a GPU does with padding is the same arithmetic: on the CPU, loss and gradients are equal."""

import functools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from simulated_cuda import PLAIN, SIZES
from token_splits import split, task_split

from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens, offsets_and_places
from zoo.config.settings import Training
from zoo.data.batches import MOST_LENGTHS, MaskedSplit, PairSplit, few_lengths
from zoo.data.sources.corpus import IGNORED
from zoo.data.tokenizer import PAD_ID
from zoo.models.build import build_language_model
from zoo.models.stack import Stack
from zoo.registry.cell import Cell
from zoo.tasks.base import TaskSetup, find_task

TASKS = ["classify", "tag", "mlm", "seq2seq"]  # batches of lm have no padding


def loss_and_gradients(registry, name, split, rows, **axes):
    """Of batches of these rows, with the same weights every time; in float64, but for the loss.

    rows: (texts), or several batches (batches, texts) that together are one.
    """
    task = find_task(registry, name)
    setup = TaskSetup(task, task.options(), SIZES, Training(dropout=0.0), 50, ["a", "b", "c"])
    model = task.build(setup, Cell.parse(registry, {**PLAIN, "pe": "rope", **axes}), 0).double()
    batches = [split.batch(each) for each in np.atleast_2d(rows)]
    parts = [(*task.loss(setup, model, batch), batch.items) for batch in batches]
    loss = sum(mean * items for mean, _, items in parts) / sum(items for *_, items in parts)
    loss.backward()
    right, gradients = sum(hits for _, hits, _ in parts), (p.grad for p in model.parameters())
    return tuple(batches[0].ids.shape), [loss.detach(), right, *gradients]


@pytest.fixture
def rows_attended(monkeypatch):
    """Padding is left out; of each row of texts that an attention takes, whether it is causal."""
    rows, mix = [], Fused.mix

    def spied(self, q, k, v, layer):
        rows.extend([layer.causal] if layer.tokens.packing else [])
        return mix(self, q, k, v, layer)

    monkeypatch.setattr(Fused, "mix", spied)
    monkeypatch.setattr(Stack, "packs", True)
    return rows


@pytest.mark.parametrize("name", TASKS)
def test_texts_without_padding_are_those_alone(registry, name, rows_attended):
    """The decoder of seq2seq is causal, and reads its memory by cross-attention."""
    _, packed = loss_and_gradients(registry, name, task_split(name), np.arange(5))
    rows = [False] * SIZES.layers + [True] * SIZES.layers * (name == "seq2seq")
    assert rows_attended == rows
    _, alone = loss_and_gradients(registry, name, task_split(name), np.arange(5)[:, None])
    assert rows_attended == rows
    torch.testing.assert_close(packed, alone, rtol=1e-5, atol=1e-7)


def test_a_causal_language_model_scores_texts_without_padding_as_those_alone(
    registry, rows_attended
):
    cell, sizes = Cell.parse(registry, {**PLAIN, "pe": "rope"}), {"vocab_size": 50, "seed": 0}
    model = build_language_model(cell, SIZES, **sizes).double()
    split = task_split("classify")

    def gradients(*batches):
        model.zero_grad()
        for batch in batches:
            targets = batch.ids.masked_fill(batch.ids == PAD_ID, IGNORED)[:, 1:]
            logits = model(batch.ids, batch.tokens)[:, :-1]
            F.cross_entropy(logits.mT, targets, reduction="sum").backward()
        return [p.grad for p in model.parameters()]

    packed = gradients(split.batch(np.arange(5)))
    assert rows_attended == [True] * SIZES.layers
    alone = gradients(*(split.batch(np.array([row])) for row in range(5)))
    torch.testing.assert_close(packed, alone)


@pytest.mark.parametrize(
    ("axes", "rows"),
    [
        ({"attention": "naive"}, 0),
        ({"attention": "naive/fused"}, 1),
        ({"pe": "alibi"}, 0),  # torch takes no bias beside lengths
        ({"pe": "learned"}, 2),
        ({"pool": "cls"}, 1),  # the last layer computes one token of each text
        ({"block": "post"}, 2),
        ({"block": "bare"}, 2),
        ({"block": "res-post"}, 2),
    ],
    ids=str,
)
def test_every_part_is_the_same_without_padding(registry, axes, rows, rows_attended, monkeypatch):
    """What compares tokens and takes no row gets texts with padding."""
    run = functools.partial(loss_and_gradients, registry, "classify", task_split("classify"))
    _, packed = run(np.arange(5), **axes)
    assert len(rows_attended) == rows
    monkeypatch.setattr(Stack, "packs", False)
    _, masked = run(np.arange(5), **axes)
    torch.testing.assert_close(packed, masked, rtol=1e-5, atol=1e-7)


def test_an_attention_with_a_mix_of_its_own_gets_texts_with_padding():
    class Own(Fused):
        def mix(self, q, k, v, layer):
            return super().mix(q, k, v, layer)

    layer = LayerContext(Tokens.whole(3))
    assert Fused(8, 2).takes_packed(layer)
    assert not Own(8, 2).takes_packed(layer)


def test_texts_of_one_length_need_no_mask(registry, monkeypatch):
    masks, kernel = [], F.scaled_dot_product_attention
    monkeypatch.setattr(
        F,
        "scaled_dot_product_attention",
        lambda q, k, v, mask, *rest, **options: (
            masks.append(mask) or kernel(q, k, v, mask, *rest, **options)
        ),
    )
    loss_and_gradients(registry, "classify", split([7, 7, 7]), np.arange(3))
    assert masks == [None] * SIZES.layers


@pytest.mark.parametrize("name", TASKS)
def test_batches_of_few_lengths_are_the_same(registry, name):
    split = task_split(name)
    (shape, expected), (wider, values) = (
        loss_and_gradients(registry, name, lengthened(split, lengths), np.arange(5))
        for lengths in (None, np.array([3, 22]))
    )
    assert (shape[1], wider[1]) == (17, 22)
    assert split.batch(np.arange(1)).ids.shape[1] == 5  # a text alone has no padding
    torch.testing.assert_close(values, expected, rtol=1e-5, atol=1e-7)


def lengthened(split, lengths):
    """The split, whose batches have these lengths alone."""
    if isinstance(split, MaskedSplit):
        split.texts.padded_lengths = lengths
    elif isinstance(split, PairSplit):
        split.source.padded_lengths = split.target.padded_lengths = lengths
    else:
        split.padded_lengths = lengths
    return split


def test_lengths_are_few_and_each_text_fits_one():
    lengths = np.random.default_rng(0).integers(1, 300, 1000)
    steps = few_lengths(lengths)
    assert len(steps) == MOST_LENGTHS
    assert steps[-1] == lengths.max()
    assert np.bincount(steps.searchsorted(lengths)).min() > 1000 / MOST_LENGTHS / 2
    assert few_lengths(np.array([4, 4, 9])).tolist() == [4, 9]


def test_packing_keeps_the_order_and_leaves_out_padding_wherever_it_is():
    mask = torch.tensor([[False, True, True], [False] * 3, [True, False, True]])
    offsets, places = offsets_and_places(mask, 4)
    assert (offsets.tolist(), places.tolist()) == ([0, 2, 2, 4], [1, 2, 6, 8])
