"""Blocks with plain sub-layers in float64, and what the tests of them compare."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.block.base import Block, LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.registry import Registry
from zoo.registry.loading import load

DIM, HEADS, LENGTH, MEMORY = 8, 2, 5, 3
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], dtype=torch.bool)

torch.set_num_threads(1)  # the tensors are tiny, and several threads would be slower


@functools.cache
def registry() -> Registry:
    """What is installed, this distribution included."""
    return load().registry


class PlainFFN(nn.Sequential):
    """Two linear layers and a tanh."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(DIM, 12), nn.Tanh(), nn.Linear(12, DIM))

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        out: Tensor = super().forward(x)
        return out


def ffn() -> nn.Module:
    return PlainFFN()


def build(
    block: str,
    *,
    cross: bool = False,
    dropout: float = 0.0,
    attention: str = "split",
    shaken: bool = True,
    layer_index: int = 0,
    layer_count: int = 1,
) -> Any:
    """A block in float64 and evaluation; shaken: with all weights off their initial values."""
    torch.manual_seed(layer_index)
    make_attention = registry().choose("attention", attention)
    built = (
        registry()
        .choose("block", block)
        .build(
            make_attention.build(DIM, HEADS),
            ffn(),
            lambda: nn.LayerNorm(DIM),
            dropout=dropout,
            cross=make_attention.build(DIM, HEADS) if cross else None,
            offered={"layer_index": layer_index, "layer_count": layer_count, "make_ffn": ffn},
        )
    )
    if shaken:
        with torch.no_grad():
            for parameter in built.parameters():
                parameter += 0.3 * torch.randn_like(parameter)
    return built.double().eval()


def context(**fields: Any) -> LayerContext:
    """Of two texts, the second padded; without positions."""
    plain = PositionalEncoding(dim=DIM, heads=HEADS, head_dim=DIM // HEADS, max_length=16)
    fields.setdefault("tokens", Tokens(MASK, torch.arange(LENGTH)))
    return LayerContext(position=plain, **fields)


def with_memory(**fields: Any) -> LayerContext:
    """A decoder's layer: causal, and with an encoder's output."""
    memory, tokens = randoms(2, MEMORY, DIM, seed=1), Tokens.whole(MEMORY)
    return context(causal=True, memory=memory, memory_tokens=tokens, **fields)


def randoms(*shape: int, seed: int = 0) -> Tensor:
    """A float64 leaf of standard normals."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


class WithLayer(nn.Module):
    """A feed-forward network as other libraries call theirs: with the hidden states alone."""

    def __init__(self, network: nn.Module, layer: LayerContext) -> None:
        super().__init__()
        self.network, self.layer = network, layer

    def forward(self, h: Tensor) -> Tensor:
        out: Tensor = self.network(h, self.layer)
        return out


class Wrapped(nn.Module):
    """A block's self-attention, called as the attentions of ``transformers`` are."""

    def __init__(self, block: Block, context: LayerContext) -> None:
        super().__init__()
        self.attention, self.context = block.attention, context

    def forward(self, hidden_states: Tensor, **unused: Any) -> tuple[Tensor, None]:
        tokens, position = self.context.tokens, self.context.position
        return self.attention(hidden_states, LayerContext(tokens, position)), None


def assert_same(
    actual: Tensor, expected: Tensor, leaves: Iterable[Tensor], tolerance: float = 1e-10
) -> None:
    """Equal values, and equal gradients of an uneven loss with respect to every leaf."""
    close = {"rtol": tolerance, "atol": tolerance}
    torch.testing.assert_close(actual, expected, **close)
    loss = torch.cos(torch.arange(actual.numel(), dtype=actual.dtype)).view_as(actual)
    leaves = list(leaves)
    ours = torch.autograd.grad((actual * loss).sum(), leaves)
    theirs = torch.autograd.grad((expected * loss).sum(), leaves)
    for gradient, right in zip(ours, theirs, strict=True):
        torch.testing.assert_close(gradient, right, **close)
