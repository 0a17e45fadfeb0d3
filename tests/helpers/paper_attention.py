"""Attentions of the literature, each written as the author of a plug-in writes one."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components.attention.base import Attention, MultiHead
from zoo.components.attention.projections import Projection, Separate
from zoo.components.attention.split import Split
from zoo.components.dropout import dropout as drop
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens, may_attend, past_tokens
from zoo.registry import Register


def register_attentions(register: Register) -> None:
    soft = ("rotate", "bias", "content-bias", "padding", "causal", "cross", "cache")
    recurrent = ("padding", "causal", "causal-only", "cache", "order")
    for name, factory, capabilities, parameters in (
        ("value-residual", ValueResidual, soft, {}),
        ("score-residual", ScoreResidual, soft, {}),
        ("shared-keys", SharedKeys, soft, {}),
        ("differential", Differential, (*soft[:2], *soft[3:]), {}),
        ("grouped", Grouped, soft, {"groups": 1}),
        ("gated", Gated, soft, {}),
        ("latent", Latent, ("rotate", "padding", "causal", "cross", "cache"), {"rank": 6}),
        ("gla", GatedLinear, recurrent, {}),
        ("short-conv", ShortConvolution, recurrent, {"size": 3}),
    ):
        register(
            "attention",
            name,
            factory,
            summary=name,
            capabilities=capabilities,
            parameters=parameters,
        )


class ValueResidual(Split):
    """V_l' = λ₁ V_1 + λ₂ V_l (Zhou et al. 2024, Value Residual Learning)."""

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.shares = nn.Parameter(torch.full((2,), 0.5))

    def adjust(
        self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext
    ) -> tuple[Tensor, Tensor, Tensor]:
        first = layer.shared.setdefault("values", v)
        return q, k, self.shares[0] * first + self.shares[1] * v


class ScoreResidual(Split):
    """S_l' = Q Kᵀ / √Dh + S_{l-1}' (He et al. 2020, RealFormer, section 3)."""

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        mask, bias = self.mask_and_bias(q, k, layer)
        scores = q @ k.mT / math.sqrt(self.head_dim)
        if bias is not None:
            scores = scores + bias
        if "scores" in layer.shared:
            scores = scores + layer.shared["scores"][:, :, layer.rows]
        layer.shared["scores"] = scores
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return drop(scores.softmax(dim=-1), self.dropout, self.training) @ v


class SharedKeys(Split):
    """Every second layer attends to the keys and values of the one before it.

    Brandon et al. 2024, cross-layer attention, section 2.3, with a sharing factor of 2.
    """

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, layer_index: int = 0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.borrows = layer_index % 2 == 1
        if self.borrows:
            del self.project.k, self.project.v

    def queries_keys_values(
        self, x: Tensor, layer: LayerContext
    ) -> tuple[Tensor, Tensor, Tensor, LayerContext]:
        if self.borrows:
            q = self.project.split(self.project.q(x))
            q = layer.position.rotate(q, layer.tokens.positions)
            k, v, keys = layer.shared["keys"]
            return q, k, v, replace(layer, context_tokens=keys)
        q, k, v, layer = super().queries_keys_values(x, layer)
        layer.shared["keys"] = k, v, layer.keys
        return q, k, v, layer


class Differential(MultiHead):
    """(softmax(Q₁K₁ᵀ/√d) - λ softmax(Q₂K₂ᵀ/√d)) V, normalised per head, times 1 - λ_init.

    Ye et al. 2024, equations 1 to 3; λ_init = 0.8 - 0.6 exp(-0.3 (l - 1)) for layers from 1.
    """

    projection = Separate

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, layer_index: int = 0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.position_dim = self.head_dim // 2
        self.initial = 0.8 - 0.6 * math.exp(-0.3 * layer_index)
        self.vectors = nn.Parameter(0.1 * torch.randn(4, self.position_dim))

    def rotate(self, q: Tensor, k: Tensor, layer: LayerContext) -> tuple[Tensor, Tensor]:
        halves = zip(q.chunk(2, -1), k.chunk(2, -1), strict=True)
        first, second = (super(Differential, self).rotate(*half, layer) for half in halves)
        return torch.cat([first[0], second[0]], -1), torch.cat([first[1], second[1]], -1)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        maps = []
        for q_half, k_half in zip(q.chunk(2, -1), k.chunk(2, -1), strict=True):
            scores = q_half @ k_half.mT / math.sqrt(q_half.shape[-1])
            scores = scores if bias is None else scores + bias
            scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
            maps.append(scores.softmax(dim=-1))
        q1, k1, q2, k2 = self.vectors
        share = (q1 @ k1).exp() - (q2 @ k2).exp() + self.initial
        heads = F.rms_norm((maps[0] - share * maps[1]) @ v, v.shape[-1:], eps=1e-5)
        return drop((1 - self.initial) * heads, self.dropout, self.training)


class FewKeys(Projection):
    """Keys and values of fewer heads than queries."""

    def __init__(self, dim: int, heads: int, groups: int) -> None:
        super().__init__(dim, heads)
        if groups < 1 or heads % groups:
            raise ValueError(f"{heads} heads do not divide into {groups} groups")
        self.q, self.groups = nn.Linear(dim, dim), groups
        self.kv = nn.Linear(dim, 2 * groups * dim // heads)

    def forward(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        k, v = (
            part.unflatten(-1, (self.groups, -1)).transpose(1, 2)
            for part in self.kv(context).chunk(2, dim=-1)
        )
        return self.split(self.q(x)), k, v


class Grouped(Split):
    """Grouped-query attention (Ainslie et al. 2023, section 2.2)."""

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, groups: int = 1) -> None:
        super().__init__(dim, heads, dropout=dropout, projection=FewKeys(dim, heads, groups))


class Gated(Split):
    """σ(x W_g) ⊙ heads, before W_o (Qiu et al. 2025, Gated Attention, section 2)."""

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.gate = nn.Linear(dim, dim)

    def output(self, heads: Tensor, x: Tensor, layer: LayerContext) -> Tensor:
        out: Tensor = self.out(heads.transpose(1, 2).flatten(2) * self.gate(x).sigmoid())
        return out


class Latent(Attention):
    """Multi-head latent attention: keys and values from a latent of width ``rank``.

    DeepSeek-AI 2024, DeepSeek-V2, section 2.1. One rotated key, of half a head's width, for
    all heads; the cache holds it and the latent.
    """

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, rank: int = 6) -> None:
        super().__init__()
        self.heads, self.head_dim, self.dropout = heads, dim // heads, dropout
        self.position_dim = max(2, self.head_dim // 2)
        wide = self.head_dim + self.position_dim
        self.q, self.down = nn.Linear(dim, heads * wide), nn.Linear(dim, rank)
        self.turned = nn.Linear(dim, self.position_dim)
        self.up, self.out = nn.Linear(rank, 2 * dim), nn.Linear(dim, dim)

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        context = x if layer.context is None else layer.context
        tokens, keys, position = layer.tokens, layer.keys, layer.position
        q = self.q(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, q_turned = q.split([self.head_dim, self.position_dim], dim=-1)
        q_turned = position.rotate(q_turned, tokens.positions)
        latent = self.down(context)[:, None]  # (B, 1, L, rank)
        turned = position.rotate_keys(self.turned(context)[:, None], keys.positions)
        if layer.cache is not None:
            turned, latent, keys = layer.cache.extend(turned, latent, keys)
        k, v = self.up(latent[:, 0]).unflatten(-1, (self.heads, -1)).transpose(1, 2).chunk(2, -1)
        scores = (q @ k.mT + q_turned @ turned.mT) / math.sqrt(self.head_dim + self.position_dim)
        mask = may_attend(tokens, keys, layer.causal)
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        weights = drop(scores.softmax(dim=-1), self.dropout, self.training)
        out: Tensor = self.out((weights @ v).transpose(1, 2).flatten(2))
        return out


class Recurrent(Attention):
    """A mixer that is causal by nature and keeps a state; a subclass has ``mix_tokens``."""

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.head_dim, self.dropout = heads, dim // heads, dropout

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        if not layer.causal or layer.context is not None:
            raise ValueError("it reads the text before each token, and that alone")
        out = self.mix_tokens(x, layer.tokens, layer.state(self))
        return drop(out, self.dropout, self.training)

    def mix_tokens(self, x: Tensor, tokens: Tokens, state: dict[str, Tensor]) -> Tensor:
        raise NotImplementedError


class GatedLinear(Recurrent):
    """S_t = diag(α_t) S_{t-1} + k_tᵀ v_t, o_t = q_t S_t (Yang et al. 2023, section 3).

    α = σ(x W_α)^(1/16). For all pairs at once: o_i = Σ_{j≤i} (q_i ⊙ α_{j+1} ⋯ α_i)·k_j v_j.
    """

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.qkva, self.out = nn.Linear(dim, 4 * dim), nn.Linear(dim, dim)

    def mix_tokens(self, x: Tensor, tokens: Tokens, state: dict[str, Tensor]) -> Tensor:
        q, k, v, a = self.qkva(x).unflatten(-1, (self.heads, -1)).transpose(1, 2).chunk(4, -1)
        decay = F.logsigmoid(a) / 16
        if tokens.attention_mask is not None:
            padding = ~tokens.attention_mask[:, None, :, None]
            k, v, decay = (part.masked_fill(padding, 0) for part in (k, v, decay))
        sums = decay.cumsum(dim=-2)  # (B, H, L, Dh)
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
        between = (sums[..., :, None, :] - sums[..., None, :, :]).clamp_max(0).exp()
        scores = torch.einsum("bhid,bhijd,bhjd->bhij", q, between, k).masked_fill(~past, 0)
        heads = scores @ v
        if "s" in state:
            heads = heads + q * sums.exp() @ state["s"]
        last = sums[..., -1:, :]
        new = (k * (last - sums).exp()).mT @ v
        state["s"] = new + (last.mT.exp() * state["s"] if "s" in state else 0)
        out: Tensor = self.out(heads.transpose(1, 2).flatten(2))
        return out


class ShortConvolution(Recurrent):
    """y_t = Σ_i w_i ⊙ x_{t-i}, channel by channel (Poli et al. 2023, Hyena, section 3)."""

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, size: int = 3) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.weight = nn.Parameter(torch.randn(size, dim))  # oldest first

    def mix_tokens(self, x: Tensor, tokens: Tokens, state: dict[str, Tensor]) -> Tensor:
        return (past_tokens(x, tokens, len(self.weight) - 1, state) * self.weight).sum(dim=2)
