"""The feed-forward network with the square of ReLU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo import part
from zoo.components.ffn.two_layer import TwoLayer


@part("ffn", "relu2", source="So et al. 2021, Primer, https://arxiv.org/abs/2109.08668")
class SquaredReLU(TwoLayer):
    """Two linear layers with the square of ReLU between.

    max(0, x)² between two linear layers (So et al. 2021, Primer).
    """

    def activation(self, x: Tensor) -> Tensor:
        return F.relu(x).square()
