"""Attention whose queries and keys are normed, which bounds the scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from zoo import part
from zoo.components.attention.fused import Fused
from zoo.components.layer_context import LayerContext

NORMS: dict[str, Callable[..., nn.Module]] = {
    "rms": nn.RMSNorm,
    "layer": partial(nn.LayerNorm, bias=False),
}


@part(
    "attention",
    "qk-norm",
    source="Dehghani et al. 2023, ViT-22B, section 2.1, https://arxiv.org/abs/2302.05442",
    lacks=("exact",),
)
class QKNorm(Fused):
    """Queries and keys normed over each head.

    softmax(norm(Q) norm(K)ᵀ / √Dh) V, the norms over Dh, with scales that all heads share.

    Dehghani et al. 2023, section 2.1, with layer norms without bias ('layer'); today's language
    models take RMS norms ('rms', as Qwen3 does, section 2 of its report). The norms come before
    the rotation.
    """

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0, norm: str = "rms") -> None:
        super().__init__(dim, heads, dropout=dropout)
        if norm not in NORMS:
            raise ValueError(f"norm must be one of {', '.join(NORMS)}, not {norm!r}")
        self.q_norm, self.k_norm = (NORMS[norm](self.head_dim, eps=1e-6) for _ in range(2))

    def adjust(
        self, q: Tensor, k: Tensor, v: Tensor, layer: LayerContext
    ) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_norm(q), self.k_norm(k), v
