"""No (L, L) tensor is ever made: forward and backward, the largest one grows as L does."""

import pytest
import torch
from efficient_helpers import CAPABILITIES, encoding, registry
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens

DIM, HEADS = 16, 2


class Largest(TorchDispatchMode):
    """The number of elements in the largest storage that any operation returned."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                self.numel = max(self.numel, leaf.untyped_storage().nbytes() // leaf.itemsize)
        return out


def largest(name, length, pe, causal, padded):
    choice = registry().choose("attention", name)
    fixed = {"max_length": length} if choice.can("fixed-length") else {}
    torch.manual_seed(0)
    attention = choice.build(DIM, HEADS, dropout=0.0, **fixed)
    position = encoding(pe, attention, DIM).float()
    x = torch.randn(1, length, DIM, requires_grad=True)
    attention_mask = torch.arange(length)[None] < length - 100 if padded else None
    tokens = Tokens(attention_mask, torch.arange(length))
    with Largest() as seen:
        attention(x, LayerContext(tokens, position, causal=causal)).sum().backward()
    return seen.numel


CASES = [
    (name, pe, causal, padded)
    for name, can in CAPABILITIES.items()
    for pe in ("none", "rope", "alibi")
    for causal in (False, True)
    for padded in (False, True)
    if {"rope": "rotate", "alibi": "bias"}.get(pe, "padding") in can
    and ("causal" in can or not causal)
]


@pytest.mark.parametrize(("name", "pe", "causal", "padded"), CASES)
def test_the_largest_tensor_grows_with_the_length_and_not_its_square(name, pe, causal, padded):
    name = {"window": "window(size=16)"}.get(name, name)
    at_512, at_1024 = (largest(name, length, pe, causal, padded) for length in (512, 1024))
    assert at_1024 < 1024 * 1024 / 4, at_1024
    assert at_1024 <= 2.2 * at_512, (at_512, at_1024)


def test_the_measurement_finds_the_scores_of_exact_attention():
    assert largest("packed", 1024, "none", False, False) >= 1024 * 1024
