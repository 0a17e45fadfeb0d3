"""Two linear layers with Mish in between."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo import part
from zoo.components.ffn.base import TwoLayer


@part("ffn", "my-ffn")
class MyFFN(TwoLayer):
    """Two linear layers with Mish in between.

    W₂ · mish(W₁ x + b₁) + b₂.

    The base class has the two layers, (…, D) to (…, hidden) to (…, D), and dropout in between. For
    another shape write an ``nn.Module`` built as ``FFN(dim, hidden, dropout)``, with
    ``forward(x, layer)``; a gated one uses
    2/3 of ``hidden``, so that it has as many weights, and declares ``gated``.
    """

    def activation(self, x: Tensor) -> Tensor:
        """(…, hidden) to (…, hidden), element-wise."""
        return F.mish(x)
