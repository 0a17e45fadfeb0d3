"""The feed-forward network with the square of ReLU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.components.ffn.base import TwoLayer


class SquaredReLU(TwoLayer):
    """max(0, x)² between two linear layers (So et al. 2021, Primer)."""

    def activation(self, x: Tensor) -> Tensor:
        return F.relu(x).square()
