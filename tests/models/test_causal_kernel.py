"""Causal attention of whole texts: equal to the masked form, and no (L, L) tensor with `fused`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from references import assert_same, randoms, shake
from small_models import language_model, some_ids
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.data.batches import Blocks
from zoo.models.decoding import Decoding, generate
from zoo.registry import Registry


class LargestTensor(TorchDispatchMode):
    """The number of elements in the largest storage that any operation returned."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                self.numel = max(self.numel, leaf.untyped_storage().nbytes() // leaf.itemsize)
        return out


def assert_linear(largest: Callable[[int], int]) -> None:
    at_256, at_512 = largest(256), largest(512)
    assert at_256 >= 256
    assert at_512 < 512 * 512 / 4
    assert at_512 <= 2.1 * at_256


def build(registry: Registry, attention: str, pe: str = "none") -> tuple[Any, Any]:
    torch.manual_seed(0)
    module = shake(registry.choose("attention", attention).build(8, 2))
    position = registry.choose("pe", pe).build(dim=8, heads=2, head_dim=4, max_length=2048)
    return module, position.double()


PAIRS = [(a, pe) for a in ("fused", "torch") for pe in ("none", "rope", "alibi")]


@pytest.mark.parametrize(("attention", "pe"), [p for p in PAIRS if p != ("torch", "rope")])
@pytest.mark.parametrize("gradients", [True, False])
def test_known_order_gives_the_output_and_gradients_of_the_masked_form(
    registry, attention, pe, gradients
):
    module, position = build(registry, attention, pe)
    x, in_order = randoms(2, 7, 8), Tokens.whole(7)
    masked = Tokens(None, torch.arange(7))
    # Without gradients torch's own module takes another path.
    with torch.set_grad_enabled(gradients):
        out, expected = (
            module.train(gradients)(x, LayerContext(tokens, position, causal=True))
            for tokens in (in_order, masked)
        )
    leaves = [x, *module.parameters()] if gradients else []
    assert_same(out, expected, leaves, tolerance=1e-12)


@pytest.mark.parametrize(
    "tokens",
    [
        Tokens(None, torch.tensor([0, 2, 1, 3])),
        Tokens(None, torch.tensor([[0, 1, 2, 3], [3, 2, 1, 0]])),
        Tokens(torch.tensor([[True] * 4, [False, True, True, True]]), torch.arange(4), True),
        Tokens.whole(4),
    ],
    ids=["other order", "other order per text", "padding", "part of a text"],
)
def test_every_other_causal_call_still_follows_positions_and_mask(registry, tokens):
    x = randoms(2, 4, 8)
    (fused, position), (packed, _) = build(registry, "fused"), build(registry, "packed")
    packed.load_state_dict(fused.state_dict())
    out, expected = (
        module(x, LayerContext(tokens, position, causal=True)) for module in (fused, packed)
    )
    assert_same(out, expected)
    few = fused(
        x[:, 1:3],
        LayerContext(tokens[1:3], position, causal=True, context=x, context_tokens=tokens),
    )
    assert_same(few, out[:, 1:3])


@pytest.mark.parametrize("pe", ["none", "rope"])
def test_fused_makes_no_tensor_that_grows_with_the_square_of_the_length(registry, pe):
    module, position = build(registry, "fused", pe)

    def largest(length: int, known: bool = True) -> int:
        tokens = replace(Tokens.whole(length), in_order=known)
        with LargestTensor() as seen:
            x = torch.randn(1, length, 8, dtype=torch.float64, requires_grad=True)
            module(x, LayerContext(tokens, position, causal=True)).sum().backward()
        return seen.numel

    assert_linear(largest)
    assert largest(512, known=False) >= 512 * 512  # the masked form makes one


def test_the_batches_of_a_language_model_take_the_causal_kernel(registry):
    model = language_model(registry)

    def largest(length: int) -> int:
        ids = np.arange(3 * length + 1, dtype=np.int32) % 20
        blocks = Blocks(ids, length, torch.device("cpu"), short=True)
        (batch,) = blocks.shuffled(batch_size=3, seed=0, epoch=0)
        with LargestTensor() as seen:
            logits = model(batch.ids, batch.tokens)
            torch.nn.functional.cross_entropy(logits.mT, batch.targets).backward()
        return seen.numel

    assert_linear(largest)


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("cache", [True, False])
def test_generation_takes_the_causal_kernel(registry, cache, beams):
    model = language_model(registry)

    def largest(length: int) -> int:
        decoding = Decoding(max_new=3, cache=cache, beams=beams)
        with LargestTensor() as seen:
            generate(model, some_ids(1, length), decoding)
        return seen.numel

    assert_linear(largest)
