"""What a GPU does with padding is the same arithmetic: on the CPU, loss and gradients are equal."""

import functools

import numpy as np
import pytest
import torch
from simulated_cuda import PLAIN, SIZES
from token_splits import task_split

from zoo.components.attention.fused import Fused, packing
from zoo.config.settings import Training
from zoo.data.batches import MOST_LENGTHS, MaskedSplit, PairSplit, few_lengths
from zoo.registry.cell import Cell
from zoo.tasks.base import TaskSetup, find_task

TASKS = ["classify", "tag", "mlm", "seq2seq"]  # batches of lm have no padding


def loss_and_gradients(registry, name, split, rows):
    """Of a batch, with the same weights every time; in float64, but for the loss."""
    task = find_task(registry, name)
    setup = TaskSetup(task, task.options(), SIZES, Training(dropout=0.0), 50, ["a", "b", "c"])
    model = task.build(setup, Cell.parse(registry, {**PLAIN, "pe": "rope"}), 0).double()
    batch = split.batch(rows)
    loss, right = task.loss(setup, model, batch)
    loss.backward()
    shape = tuple(batch.ids.shape)
    return shape, [loss.detach(), right, *(p.grad for p in model.parameters())]


@pytest.mark.parametrize("name", TASKS)
def test_texts_packed_without_padding_are_the_same(registry, name, monkeypatch):
    run = functools.partial(loss_and_gradients, registry, name, task_split(name), np.arange(5))
    calls, whole = [], torch.nested.nested_tensor_from_jagged
    expected = run()
    monkeypatch.setattr(Fused, "packs", True)
    monkeypatch.setattr(
        torch.nested,
        "nested_tensor_from_jagged",
        lambda *args, **options: calls.append(args) or whole(*args, **options),
    )
    torch.testing.assert_close(run(), expected, rtol=1e-5, atol=1e-7)
    assert len(calls) == 3 * SIZES.layers


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
    offsets, places = packing(mask, 4)
    assert (offsets.tolist(), places.tolist()) == ([0, 2, 2, 4], [1, 2, 6, 8])
