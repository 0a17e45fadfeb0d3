"""Models of components of the literature, and their layers written out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from paper_attention import register_attentions
from paper_parts import register_parts
from torch import Tensor

from zoo.models.stack import Encoder
from zoo.registry import Owner, Register, Registry

# Of a layer: its number, its block and the normed input (B, L, D), to its attention's output.
Attend = Callable[[int, Any, Tensor], Tensor]


def with_papers(registry: Registry) -> Registry:
    """The registry, with the components of the literature."""
    register = Register(Owner("papers", "1"))
    register_attentions(register)
    register_parts(register)
    registry.admit(register)
    return registry


def by_hand(encoder: Encoder, ids: Tensor, attend: Attend) -> Tensor:
    """A pre-norm encoder without encoding, with ReLU networks and layer norms."""

    def norm(x: Tensor, its: Any) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        spread = (centred.square().mean(dim=-1, keepdim=True) + its.eps).sqrt()
        return centred / spread * its.scale + its.shift

    x = encoder.embedding.weight[ids] * math.sqrt(encoder.embedding.weight.shape[1])
    for number, block in enumerate(encoder.blocks):
        x = x + attend(number, block.attention, norm(x, block.attention_norm))
        inner, outer = block.ffn.inner, block.ffn.outer
        h = norm(x, block.ffn_norm) @ inner.weight.T + inner.bias
        x = x + h.clamp_min(0) @ outer.weight.T + outer.bias
    return norm(x, encoder.final_norm)


def project(h: Tensor, layer: Any, heads: int) -> Tensor:
    """(B, L, D) by a linear layer to heads (B, H, L, Dh)."""
    return torch.stack((h @ layer.weight.T + layer.bias).chunk(heads, dim=-1), dim=1)


def joined(heads: Tensor, layer: Any) -> Tensor:
    """Heads (B, H, L, Dh) side by side, by a linear layer to (B, L, D)."""
    return torch.cat(list(heads.unbind(1)), dim=-1) @ layer.weight.T + layer.bias
