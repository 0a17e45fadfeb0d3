"""A small network that maps a relative distance, between 0 and 1, to a bias."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import part
from zoo.components.pe.base import PositionalEncoding
from zoo_modern.pe.offsets import offsets, wide


@part(
    "pe",
    "fire",
    source="Li et al. 2023, section 3, https://arxiv.org/abs/2310.04418",
    adds=("bias", "order", "absolute"),
)
class Fire(PositionalEncoding):
    """A small network maps a distance, as a share of the text read so far, to a bias.

    score += f(ψ(i - j) / ψ(max(i, T))), ψ(x) = ln(|c x| + 1), T = |threshold · multiplier|.

    Li et al. 2023, FIRE, section 3. f: 1 → width → H with ReLU; c, multiplier and f are learned, in
    each layer its own. Beyond T a distance counts as a share of the query's position, which keeps
    it between 0 and 1 in texts of any length. The paper has only j ≤ i; here a distance is |i - j|,
    and a share is that of max(i, j, T), so that both directions are alike.
    """

    def __init__(
        self,
        *,
        dim: int,
        heads: int,
        head_dim: int,
        max_length: int,
        layer_index: int = 0,
        width: int = 32,
        c: float = 0.1,
        threshold: float = 512.0,
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length)
        if not threshold > 0:
            raise ValueError(f"threshold must be above 0, not {threshold}")
        self.threshold = threshold
        self.c, self.multiplier = nn.Parameter(torch.tensor(c)), nn.Parameter(torch.tensor(1.0))
        self.inner, self.outer = nn.Linear(1, width), nn.Linear(width, heads)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Bias (H, Lq, Lk), or (B, H, Lq, Lk) for positions per text."""
        c, start = wide(self.c), wide(self.threshold * self.multiplier).abs()
        distance = offsets(q_positions, k_positions).abs()
        furthest = torch.maximum(q_positions[..., :, None], k_positions[..., None, :])
        # The least of 1e-6 is the authors': at c = 0 this would be 0 / 0.
        whole = (c * torch.maximum(furthest.to(c.dtype), start)).abs().log1p() + 1e-6
        share = (c * distance).abs().log1p() / whole
        hidden = F.relu(self.inner(share[..., None].to(self.inner.weight.dtype)))
        out: Tensor = self.outer(hidden)
        return out.movedim(-1, -3)
