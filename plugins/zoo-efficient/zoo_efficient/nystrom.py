"""Nyström attention: the softmax matrix rebuilt from a few landmarks."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo import part
from zoo.components.attention.base import ProjectedAttention, softmax_weights
from zoo.components.attention.projections import PackedProjection
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens, may_attend
from zoo_efficient.padding import hide, ranks
from zoo_efficient.whole_numbers import at_least


@part(
    "attention",
    "nystrom",
    source="Xiong et al. 2021, Nyströmformer, https://arxiv.org/abs/2102.03902",
    adds=("padding", "order"),
    lacks=("cross", "cache"),
)
class Nystrom(ProjectedAttention):
    """The softmax matrix rebuilt from landmarks, the means of segments.

    softmax(Q K̃ᵀ/√Dh) · softmax(Q̃ K̃ᵀ/√Dh)⁺ · softmax(Q̃ Kᵀ/√Dh) · V.

    Xiong et al. 2021, section 3; Q̃ and K̃ are the means of ``landmarks`` segments, and the
    pseudo-inverse is approximated by ``iterations`` steps of the paper's iteration.
    Exact for this formula with that iteration for ⁺; equal to softmax attention for texts of at
    most ``landmarks`` real tokens: there A A⁺ A V = A V, and A V is computed.
    Cost: L · m · Dh + m³ per head for m landmarks in time, L · m in memory.
    Choices: segments are cut from a text's real tokens only, their lengths differing by one at
    most, where the paper pads to a multiple of m; the first inverse is scaled by each matrix's
    own norms, where the authors' code takes the maximum over the batch, so that texts influence
    each other; no depthwise convolution of the values is added, as it is a separate component.
    Half precision is computed in float32, and so without tensor cores, as the inverse enlarges
    rounding errors. Dropout is
    applied to the left factor. The query landmarks are means of all queries, so `cross` is not
    declared.
    """

    projection = PackedProjection

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        dropout: float = 0.0,
        landmarks: int = 32,
        iterations: int = 6,
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.landmarks = at_least("landmarks", 1, landmarks)
        self.iterations = at_least("iterations", 1, iterations)

    def mix(self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        """The output of each head (B, H, Lq, Dh)."""
        dtype, keys = v.dtype, layer.keys
        if dtype in (torch.bfloat16, torch.float16):
            q, k, v = q.float(), k.float(), v.float()
        with torch.autocast(v.device.type, enabled=False):
            return self._mix(hide(q, layer.tokens), hide(k, keys), hide(v, keys), keys).to(dtype)

    def _mix(self, q: Tensor, k: Tensor, v: Tensor, keys: Tokens) -> Tensor:
        means, filled, short = self._segments(keys, q)
        q_marks, k_marks = means @ q, means @ k  # (B, H, m, Dh)
        left = softmax_weights(q, k_marks, filled, None)  # (B, H, L, m)
        left = dropout(left, self.dropout, self.training)
        if q.shape[-2] <= self.landmarks:
            return left @ (means @ v)
        middle = softmax_weights(q_marks, k_marks, filled, None)
        middle = middle.masked_fill(~filled.transpose(-2, -1), 0)
        right = softmax_weights(q_marks, k, may_attend(keys, keys, causal=False), None)
        taken = pseudo_inverse(middle, self.iterations) @ (right @ v)
        # In a short text every token is its own landmark, and the two right factors are I.
        return left @ torch.where(short, means @ v, taken)

    def _segments(self, tokens: Tokens, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The matrix of segment means, which landmarks exist, and which texts are short.

        (B or 1, 1, m, L) of x's type; bool (B or 1, 1, 1, m); bool (B or 1, 1, 1, 1).
        """
        length = x.shape[-2]
        rank, count = ranks(tokens, length, x.device)
        marks = min(self.landmarks, length)
        used = count.clamp(1, marks)  # a text has no more landmarks than tokens
        segment = rank * used // count.clamp_min(1)
        slots = torch.arange(marks, device=x.device)
        member = segment[:, None, :] == slots[:, None]  # (B or 1, m, L)
        if tokens.attention_mask is not None:
            member = member & tokens.attention_mask[:, None, :]
        means = member.to(x.dtype) / member.sum(dim=-1, keepdim=True).clamp_min(1)
        filled = slots < used
        short = count <= marks
        return means[:, None], filled[:, None, None], short[:, None, None]


def pseudo_inverse(a: Tensor, iterations: int) -> Tensor:
    """Z ← ¼ Z (13 I - A Z (15 I - A Z (7 I - A Z))), from Z₀ = Aᵀ / (‖A‖₁ ‖A‖∞).

    a: (..., m, m), no entry negative. Xiong et al. 2021, section 3.
    """
    columns, rows = a.sum(dim=-2).amax(dim=-1), a.sum(dim=-1).amax(dim=-1)
    z = a.transpose(-2, -1) / (columns * rows)[..., None, None]
    eye = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    for _ in range(iterations):
        az = a @ z
        z = z @ (13 * eye - az @ (15 * eye - az @ (7 * eye - az))) / 4
    return z
