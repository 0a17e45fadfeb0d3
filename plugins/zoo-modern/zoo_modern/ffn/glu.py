"""The gated linear unit with the logistic function, the first of its kind."""

from __future__ import annotations

from torch import Tensor

from zoo import part
from zoo_modern.ffn.gated import Gated


@part(
    "ffn",
    "glu",
    source="Shazeer 2020, equation 6, https://arxiv.org/abs/2002.05202",
    adds=("gated",),
)
class GLU(Gated):
    """Gated linear unit with as many parameters as the plain ones.

    W₂ (σ(W x) ⊙ V x) (Dauphin et al. 2017, section 2; Shazeer 2020, equation 6).
    """

    def activation(self, x: Tensor) -> Tensor:
        return x.sigmoid()
