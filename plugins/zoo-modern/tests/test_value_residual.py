"""Value residual over layers: whole, with few positions read, and step by step."""

from __future__ import annotations

import pytest
import torch
from mixers_helpers import DIM, HEADS, build, encoding, near
from zoo_modern.attention.value_residual import ValueResidual

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.models.key_value_cache import KeyValues

LAYERS, LENGTH = 3, 6


@pytest.fixture
def layers():
    return [build(ValueResidual, layer_index=index) for index in range(LAYERS)]


def run(layers, x, tokens, *, read=None, caches=(None,) * LAYERS):
    """The layers one after another, with residuals; the last gives the positions in ``read``."""
    shared = {}
    position = encoding("rope", layers[0])
    for index, (layer, cache) in enumerate(zip(layers, caches, strict=True)):
        rows = read if read is not None and index == LAYERS - 1 else slice(None)
        context = LayerContext(
            tokens[rows],
            position,
            causal=True,
            context=x,
            context_tokens=tokens,
            cache=cache,
            index=index,
            count=LAYERS,
            shared=shared,
        )
        x = x[:, rows] + layer(x[:, rows], context)
    return x


def plain(layers, x):
    """The same with torch's attention, the values mixed by hand."""
    first, rope = None, encoding("rope", layers[0])
    for index, layer in enumerate(layers):
        q, k, v = (
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for part in layer.project.qkv(x).chunk(3, dim=-1)
        )
        first = v if first is None else first
        if index:
            v = layer.shares[0] * first + layer.shares[1] * v
        q, k = (rope.rotate(part, torch.arange(x.shape[1])) for part in (q, k))
        heads = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + layer.out(heads.transpose(1, 2).flatten(2))
    return x


def inputs():
    return torch.randn(2, LENGTH, DIM, generator=torch.Generator().manual_seed(0)).double()


def test_later_layers_add_the_first_ones_values(layers):
    x = inputs().requires_grad_()
    parameters = [x, *(p for layer in layers for p in layer.parameters())]
    got, wanted = run(layers, x, Tokens.whole(LENGTH)), plain(layers, x)
    near(got, wanted)
    weights = torch.randn_like(got)
    for one, other in zip(
        torch.autograd.grad((got * weights).sum(), parameters),
        torch.autograd.grad((wanted * weights).sum(), parameters),
        strict=True,
    ):
        near(one, other)


def test_few_positions_are_those_of_the_whole(layers):
    x, rows = inputs(), slice(4, 5)
    near(run(layers, x, Tokens.whole(LENGTH), read=rows), plain(layers, x)[:, rows])


def test_decoding_step_by_step_is_the_whole_at_once(layers):
    x, caches = inputs(), [KeyValues() for _ in range(LAYERS)]
    rows = [slice(0, 3), *(slice(i, i + 1) for i in range(3, LENGTH))]
    whole = Tokens.whole(LENGTH)
    steps = [run(layers, x[:, r], whole[r], caches=caches) for r in rows]
    near(torch.cat(steps, dim=1), plain(layers, x))


def test_the_first_layer_has_no_shares_and_the_others_begin_with_halves():
    assert ValueResidual(DIM, HEADS).shares is None
    assert ValueResidual(DIM, HEADS, layer_index=1).shares.tolist() == [0.5, 0.5]
