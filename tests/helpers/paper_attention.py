"""Attentions of the literature, each written as the author of a plug-in writes one."""

import math
from dataclasses import replace

import torch
from torch import Tensor, nn

from zoo.components.attention.base import Attention
from zoo.components.attention.projections import Projection
from zoo.components.attention.split import Split
from zoo.components.dropout import dropout as drop
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens, past_tokens
from zoo.registry import Register


def register_attentions(register: Register) -> None:
    soft = ("rotate", "bias", "content-bias", "padding", "causal", "cross", "cache")
    recurrent = ("padding", "causal", "causal-only", "cache", "order")
    for name, factory, capabilities, parameters in (
        ("value-residual", ValueResidual, soft, {}),
        ("score-residual", ScoreResidual, soft, {}),
        ("shared-keys", SharedKeys, soft, {}),
        ("grouped", Grouped, soft, {"groups": 1}),
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


class ShortConvolution(Recurrent):
    """y_t = Σ_i w_i ⊙ x_{t-i}, channel by channel (Poli et al. 2023, Hyena, section 3)."""

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, size: int = 3) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.weight = nn.Parameter(torch.randn(size, dim))  # oldest first

    def mix_tokens(self, x: Tensor, tokens: Tokens, state: dict[str, Tensor]) -> Tensor:
        return (past_tokens(x, tokens, len(self.weight) - 1, state) * self.weight).sum(dim=2)
