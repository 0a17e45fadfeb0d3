"""Encodings, networks, blocks and a pool of the literature, written as plug-ins write them."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.components.block.base import Block, Sublayer
from zoo.components.ffn.two_layer import GELU
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import Angles, PositionalEncoding
from zoo.components.pe.rope import Rotary
from zoo.components.pool.base import Pool
from zoo.components.tokens import past_tokens
from zoo.registry import Register


def register_parts(register: Register) -> None:
    content = ("content-bias", "order")
    for kind, name, factory, capabilities, parameters in (
        ("pe", "shaw", Shaw, content, {"reach": 3}),
        ("pe", "transformer-xl", TransformerXL, content, {}),
        ("pe", "xpos", XPos, ("rotate", "scaled", "order"), {"base": 10000.0}),
        ("pe", "randomised", Randomised, ("rotate", "order", "random"), {"most": 50}),
        ("pe", "rope-by-layer", RotaryByLayer, ("rotate", "order"), {}),
        ("ffn", "shift", Shift, ("neighbours", "causal", "cache"), {}),
        ("block", "rezero", ReZero, ("residual", "cross"), {}),
        ("block", "on-sphere", OnSphere, ("cross",), {}),
        ("pool", "two-queries", TwoQueries, (), {}),
    ):
        register(
            kind, name, factory, summary=name, capabilities=capabilities, parameters=parameters
        )


class Shaw(PositionalEncoding):
    """score += q_i · a_clip(j - i) / √Dh (Shaw et al. 2018, equation 5, keys alone)."""

    def __init__(
        self, *, dim: int, heads: int, head_dim: int, max_length: int, reach: int = 3
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.reach, self.table = reach, nn.Embedding(2 * reach + 1, head_dim)

    def content_bias(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, mask: Tensor | None
    ) -> Tensor:
        offsets = k_positions[..., None, :] - q_positions[..., :, None]  # (L or B, L; Lk)
        vectors = self.table(offsets.clamp(-self.reach, self.reach) + self.reach)
        vectors = vectors[:, None] if vectors.dim() == 4 else vectors
        return (vectors @ q[..., None])[..., 0] / math.sqrt(q.shape[-1])


class TransformerXL(PositionalEncoding):
    """score += (u · k_j + (q_i + v) · W R_{i-j}) / √Dh (Dai et al. 2019, section 3.3, b to d)."""

    def __init__(self, *, dim: int, heads: int, head_dim: int, max_length: int) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.u, self.v = (nn.Parameter(torch.randn(heads, 1, head_dim)) for _ in range(2))
        self.angles = Angles(dim, 10000.0)
        self.project = nn.Linear(dim, heads * head_dim, bias=False)

    def content_bias(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, mask: Tensor | None
    ) -> Tensor:
        angles = self.angles(q_positions[..., :, None] - k_positions[..., None, :])
        waves = torch.cat([angles.sin(), angles.cos()], dim=-1).to(q.dtype)  # (…, Lq, Lk, D)
        vectors = self.project(waves).unflatten(-1, (len(self.u), -1)).movedim(-2, -4)
        by_place = (vectors @ (q + self.v)[..., None])[..., 0]
        return ((self.u @ k.mT) + by_place) / math.sqrt(q.shape[-1])


class XPos(Rotary):
    """Rotated queries times ζ^(n/512), keys times ζ^(-m/512) (Sun et al. 2022, section 2.2)."""

    def scale(self, positions: Tensor, power: float) -> Tensor:
        width = 2 * len(self.angles.frequencies)
        pairs = torch.arange(0, width, 2, dtype=torch.float64, device=positions.device)
        factors = ((pairs / width + 0.4) / 1.4) ** (power * positions[..., None] / 512)
        factors = factors.repeat_interleave(2, dim=-1)
        return factors[:, None] if factors.dim() == 3 else factors

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().rotate(x, positions) * self.scale(positions, 1.0).to(x.dtype)

    def rotate_keys(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().rotate(x, positions) * self.scale(positions, -1.0).to(x.dtype)


class RotaryByLayer(Rotary):
    """A rotary encoding whose base is 10 in the first layer, 100 in the second, and so on."""

    def __init__(
        self, *, dim: int, heads: int, head_dim: int, max_length: int, layer_index: int = 0
    ) -> None:
        base = 10.0 ** (layer_index + 1)
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length, base=base)


class Randomised(Rotary):
    """In training, L of ``most`` positions in their order (Ruoss et al. 2023, section 3.1)."""

    def __init__(
        self, *, dim: int, heads: int, head_dim: int, max_length: int, most: int = 50
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        self.most = most

    def place(self, positions: Tensor) -> Tensor:
        if not self.training:
            return positions
        drawn = torch.randperm(self.most, device=positions.device)[: positions.shape[-1]]
        return drawn.sort().values.expand(positions.shape)


class Shift(GELU):
    """FFN(μ ⊙ x_t + (1 - μ) ⊙ x_{t-1}) (Peng et al. 2023, RWKV, section 3.1)."""

    def __init__(self, dim: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__(dim, hidden, dropout)
        self.share = nn.Parameter(torch.rand(dim))

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        before = past_tokens(x, layer.tokens, 1, layer.state(self))[:, :, 0]
        return super().forward(self.share * x + (1 - self.share) * before, layer)


class ReZero(Block):
    """x + α f(x), α = 0 at first, and no norms (Bachlechner et al. 2020, equation 2)."""

    normed = False

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self.alpha = nn.Parameter(torch.zeros(()))

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        return x[:, rows] + self.alpha * self.drop(sublayer(x))


class OnSphere(Block):
    """norm(x + α (norm(f(x)) - x)); every row of a matrix has norm 1 after every step.

    Loshchilov et al. 2024, nGPT, section 2; nothing decays.
    """

    normed = False
    no_weight_decay = ("*",)

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self.alpha = nn.Parameter(torch.full((), 0.05))
        self.after_step()

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        out = self.drop(F.normalize(sublayer(x), dim=-1))
        return F.normalize(x[:, rows] + self.alpha * (out - x[:, rows]), dim=-1)

    @torch.no_grad()
    def after_step(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() == 2:
                parameter.copy_(F.normalize(parameter, dim=-1))


class TwoQueries(Pool):
    """Two learned queries attend to the tokens; their results side by side."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.width = 2 * dim
        self.queries = nn.Parameter(torch.randn(2, dim))

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        scores = self.queries @ x.mT  # (B, 2, L)
        if attention_mask is not None:
            x = x.masked_fill(~attention_mask[..., None], 0)
            scores = (self.queries @ x.mT).masked_fill(~attention_mask[:, None], -torch.inf)
            scores = scores.masked_fill(~attention_mask.any(dim=1)[:, None, None], 0)
        return (scores.softmax(dim=-1) @ x).flatten(1)
