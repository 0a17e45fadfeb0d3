"""Parts of known behaviour: attention as in the paper, and encodings to call it with.

They share no code with the components that they check.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo.components.attention.projections import CanonicalWeights
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding


def attention(
    weights: CanonicalWeights, heads: int, x: Tensor, layer: LayerContext
) -> tuple[Tensor, Tensor]:
    """Concat(head_1 .. head_H) W_o, head = softmax(Q Kᵀ / √Dh + bias) V.

    Vaswani et al. 2017, section 3.2.2. x: (B, Lq, D). Gives (B, Lq, D), the map (B, H, Lq, Lk).
    """

    def project(x: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
        """(B, L, D) to (B, H, L, Dh)."""
        per_head = matrix.unflatten(0, (heads, -1))  # (H, Dh, D)
        return torch.einsum("bld,hed->bhle", x, per_head) + bias.view(heads, 1, -1)

    position, context = layer.position, x if layer.context is None else layer.context
    queries, keys = layer.tokens.positions, layer.keys.positions
    q, k, v = map(project, (x, context, context), weights.qkv.chunk(3), weights.qkv_bias.chunk(3))
    q, k = position.rotate(q, queries), position.rotate(k, keys)
    scores = torch.einsum("bhie,bhje->bhij", q, k) / math.sqrt(q.shape[-1])
    if (bias := position.bias(queries, keys)) is not None:
        scores = scores + bias
    unseen = hidden(layer)
    if (content := position.content_bias(q, k, queries, keys, ~unseen)) is not None:
        scores = scores + content
    scores = scores.masked_fill(unseen, -torch.inf)
    shares = scores.softmax(dim=-1)
    mixed = torch.einsum("bhij,bhje->bihe", shares, v).flatten(2)
    return mixed @ weights.out.T + weights.out_bias, shares


def hidden(layer: LayerContext) -> Tensor:
    """Which keys a query may not see, bool (1 or B, 1, Lq, Lk); one that may see none sees all."""
    queries, keys = layer.tokens.positions, layer.keys.positions
    unseen = torch.zeros(1, 1, len(queries), len(keys), dtype=torch.bool)
    if layer.keys.attention_mask is not None:
        unseen = unseen | ~layer.keys.attention_mask[:, None, None, :]
    if layer.causal:
        unseen = unseen | (keys > queries[:, None])
    return unseen & ~unseen.all(-1, keepdim=True)


class ReferenceEncoding(PositionalEncoding):
    """An encoding that rotates, adds a bias, does both, or neither.

    gain: a factor of what it does, learned where it is a parameter.
    """

    def __init__(
        self,
        rotates: bool = False,
        biases: bool = False,
        *,
        heads: int = 1,
        gain: Tensor | float = 1.0,
    ) -> None:
        super().__init__(dim=0, heads=0, head_dim=0, max_length=0)
        self.rotates, self.biases, self.heads, self.gain = rotates, biases, heads, gain

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """Each pair (x₂ᵢ, x₂ᵢ₊₁) rotated by position · 100^(-2i/Dh).

        Su et al. 2021, equation 34; the small base makes the angles large even for short texts.
        """
        if not self.rotates:
            return x
        width = x.shape[-1]
        pairs = torch.arange(width // 2, dtype=torch.float64, device=x.device)
        angles = positions[..., None].double() * 100.0 ** (-2 * pairs / width)
        angles = angles[:, None] if angles.dim() == 3 else angles
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x[..., 0::2], x[..., 1::2]
        rotated = [first * cos - second * sin, first * sin + second * cos]
        return self.gain * torch.stack(rotated, dim=-1).flatten(-2)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """(…, H, Lq, Lk): depends on the head, the offset and its direction."""
        if not self.biases:
            return None
        offset = (k_positions[..., None, :] - q_positions[..., :, None]).double()
        head = torch.arange(self.heads, dtype=torch.float64, device=offset.device)[:, None, None]
        offset = offset[..., None, :, :]
        return self.gain * (torch.sin(0.9 * offset + head) - 0.3 * (head + 1) * offset.clamp_min(0))


class ContentBias(ReferenceEncoding):
    """Adds q · k, times the mean of tanh(q · k) over all keys that the query may attend to."""

    def content_bias(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, mask: Tensor | None
    ) -> Tensor:
        """(B, H, Lq, Lk)."""
        products = q @ k.mT
        seen = torch.ones_like(products) if mask is None else mask.expand(products.shape)
        means = products.tanh().masked_fill(seen == 0, 0).sum(-1, True) / seen.sum(-1, True)
        return self.gain * products * means
