"""The feed-forward network with ReLU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.components.ffn.base import TwoLayer
from zoo.registry.declarations import part


@part("ffn", "relu", source="Vaswani et al. 2017, equation 2, https://arxiv.org/abs/1706.03762")
class ReLU(TwoLayer):
    """Two linear layers with ReLU between.

    max(0, x) between two linear layers (Vaswani et al. 2017, equation 2).
    """

    def activation(self, x: Tensor) -> Tensor:
        return F.relu(x)
