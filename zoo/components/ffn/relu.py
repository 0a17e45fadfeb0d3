"""The feed-forward network with ReLU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.components.ffn.base import TwoLayer


class ReLU(TwoLayer):
    """max(0, x) between two linear layers (Vaswani et al. 2017, equation 2)."""

    def activation(self, x: Tensor) -> Tensor:
        return F.relu(x)
