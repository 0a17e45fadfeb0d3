"""Several residual streams, with learned connections between them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.base import Attention
from zoo.components.block.base import Block, LayerContext, Sublayer

SHARED = "hyper-connections"  # what a layer leaves for the next: the streams, and their sum


class Connection(nn.Module):
    """How one sub-layer reads and writes the n streams; has the norms of both as well."""

    no_weight_decay = ("read", "mix", "write")  # in the paper the dynamic part alone decays

    def __init__(
        self, norm: Callable[[], nn.Module], dim: int, streams: int, number: int, dynamic: bool
    ) -> None:
        super().__init__()
        self.norm = norm()
        self.read = nn.Parameter(torch.eye(streams)[number % streams])  # A_m (n)
        self.mix = nn.Parameter(torch.eye(streams))  # A_r (n, n), from stream i to stream j
        self.write = nn.Parameter(torch.ones(streams))  # B (n)
        self.dynamic = nn.Linear(dim, streams + 2, bias=False) if dynamic else None
        if self.dynamic is not None:
            nn.init.zeros_(self.dynamic.weight)
            self.stream_norm = norm()
            self.scales = nn.Parameter(torch.full((2,), 0.01))  # s_α of read and mix, s_β of write

    def forward(self, streams: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Streams (B, L, n, D) to A_m (B, L, n), A_r (B, L, n, n) and B (B, L, n) of each token.

        Without ``dynamic`` they have no dimensions B and L.
        """
        if self.dynamic is None:
            return self.read, self.mix, self.write
        moved = self.dynamic(self.stream_norm(streams)).tanh()  # (B, L, n, n + 2)
        read, mix, write = moved.split([1, len(self.read), 1], dim=-1)
        alpha, beta = self.scales
        return (
            self.read + alpha * read.squeeze(-1),
            self.mix + alpha * mix,
            self.write + beta * write.squeeze(-1),
        )


@part(
    "block",
    "hyper-connections",
    source="Zhu et al. 2024, section 2, https://arxiv.org/abs/2409.19606",
)
class HyperConnections(Block):
    """Several residual streams, which sub-layers read and write by learned weights.

    h = A_mᵀ H,  H' = A_rᵀ H + B f(norm(h))ᵀ for n streams H (n, D) of every token.

    Zhu et al. 2024, Hyper-Connections, section 2 and appendix J, algorithm 2. ``dynamic`` ones add
    s_α tanh(norm(H) W) to A_m and A_r, and s_β tanh(norm(H) W_β) to B. Initially W = 0, A_m is the
    unit vector of the sub-layer's number modulo n, A_r = I and B = 1, which is pre-norm. The first
    layer repeats x n times, the last gives the sum of the streams; from layer to layer they pass in
    ``shared``. Choice: the sub-layers' initial weights are left as they are.
    """

    final_norm = True

    def __init__(
        self,
        attention: Attention,
        ffn: nn.Module | None,
        norm: Callable[[], nn.Module],
        *,
        streams: int = 4,
        dynamic: bool = True,
        cross: Attention | None = None,
        layer_index: int = 0,
        **options: Any,
    ) -> None:
        if streams < 1:
            raise ValueError(f"there is at least one stream, not {streams}")
        dim = attention.heads * attention.head_dim
        sublayers = 1 + (cross is not None) + (ffn is not None)
        numbers = itertools.count(layer_index * sublayers)
        super().__init__(
            attention,
            ffn,
            lambda: Connection(norm, dim, streams, next(numbers), dynamic),
            cross=cross,
            **options,
        )
        self.streams = streams

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        if layer.index == 0 or SHARED not in layer.shared:
            streams = x[:, :, None].expand(-1, -1, self.streams, -1)
        else:
            streams, before = layer.shared[SHARED]
            if x is not before:  # a layer with another block came between: each gets its share
                streams = streams + ((x - before) / self.streams)[:, :, None]
        streams = super().forward(streams, layer)
        out = streams.sum(dim=2)
        layer.shared[SHARED] = streams, out
        return out

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        """As of a ``Block``, but of streams (B, L, n, D)."""
        read, mix, write = norm(x)
        h = (read[..., None] * x).sum(dim=-2)
        out = self.drop(sublayer(norm.norm(h)))  # (B, rows, D)
        if write.dim() > 1:
            mix, write = mix[:, rows], write[:, rows]
        return mix.mT @ x[:, rows] + write[..., None] * out[..., None, :]
