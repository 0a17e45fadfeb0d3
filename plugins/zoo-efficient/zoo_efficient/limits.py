"""Refusing what an attention does not declare, so that no request is silently ignored."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from zoo.components.attention.base import Cache, ProjectedAttention
from zoo.components.attention.projections import Packed, Projection
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo_efficient.capabilities import CAPABILITIES


def refuse(
    name: str,
    head_dim: int,
    position: PositionalEncoding,
    tokens: Tokens,
    *,
    causal: bool = False,
    cross: bool = False,
    cache: bool = False,
) -> None:
    """ValueError where a call needs a capability that this attention does not declare."""
    can = CAPABILITIES[name]
    one = tokens.positions[..., :1]  # one position shows which slots an encoding uses
    asked = {"causal": causal, "cross": cross, "cache": cache}
    if "rotate" not in can:
        sample = torch.zeros(1, 1, 1, head_dim, device=one.device)
        turned = (position.rotate(sample, one), position.rotate_keys(sample, one))
        asked["rotate"] = any(one is not sample for one in turned)
    if "bias" not in can:
        asked["bias"] = position.bias(one, one) is not None
    if "content-bias" not in can:
        asked["content-bias"] = position.reads_content
    for capability, wanted in asked.items():
        if wanted and capability not in can:
            raise ValueError(f"attention '{name}' cannot do what was asked of it: '{capability}'")


def at_least(name: str, least: int, value: int) -> int:
    """The value of an integer parameter; ValueError where it is not an integer, or too small."""
    if type(value) is not int or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return value


class Limited(ProjectedAttention):
    """The base class of the attentions here; refuses what ``name`` does not declare."""

    name: ClassVar[str]
    projection: ClassVar[type[Projection]] = Packed

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        tokens: Tokens,
        context_tokens: Tokens | None = None,
        position: PositionalEncoding,
        causal: bool = False,
        cache: Cache | None = None,
        layer: LayerContext | None = None,
    ) -> Tensor:
        """x (B, Lq, D) to (B, Lq, D); ValueError for what the attention does not declare."""
        cross = context is not None and context is not x
        self.refuse(position, tokens, causal=causal, cross=cross, cache=cache is not None)
        return super().forward(
            x,
            context,
            tokens=tokens,
            context_tokens=context_tokens,
            position=position,
            causal=causal,
            cache=cache,
            layer=layer,
        )

    def refuse(self, position: PositionalEncoding, tokens: Tokens, **asked: bool) -> None:
        """ValueError where a requested capability is not declared."""
        refuse(self.name, self.head_dim, position, tokens, **asked)
