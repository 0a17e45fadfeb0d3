"""An attention in one file."""

import torch

from zoo import part
from zoo.components.attention.base import MultiHead
from zoo.components.attention.projections import Packed


@part("attention", "my-linear-relu", source="a test")
class ReLUWeights(MultiHead):
    """Weights relu(Q Kᵀ / √Dh + bias) over their sum."""

    projection = Packed

    def __init__(self, dim, heads, *, dropout=0.0, floor=1e-3):
        super().__init__(dim, heads, dropout=dropout)
        self.floor = floor

    def attend(self, q, k, v, mask, bias):
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores if bias is None else scores + bias
        weights = torch.relu(scores) + self.floor
        weights = weights if mask is None else weights.masked_fill(~mask, 0)
        return weights / weights.sum(dim=-1, keepdim=True) @ v
