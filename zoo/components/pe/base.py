"""The positional encoding contract: slots, each the identity unless overridden."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from zoo.registry.declarations import part


class PositionalEncoding(nn.Module):
    """Built as ``PositionalEncoding(dim=, heads=, head_dim=, max_length=)``.

    One object serves all layers that have it; what it adds to the embeddings, it adds once.
    Positions are arguments, so that packed batches, single query positions and decoding all work.
    """

    def __init__(self, *, dim: int, heads: int, head_dim: int, max_length: int) -> None:
        super().__init__()

    def place(self, positions: Tensor) -> Tensor:
        """Map positions (L) or (B, L), increasing, to the ones used in this pass.

        Called once at the beginning of a pass; all slots, in all layers, are given the result,
        which must increase too. In evaluation each must depend on its own position alone, so that
        decoding step by step is right.
        """
        return positions

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Embeddings x (B, L, D) plus a vector for each position (L) or (B, L)."""
        return x

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """Queries x (B, H, L, Dh) rotated by their positions (L) or (B, L)."""
        return x

    def rotate_keys(self, x: Tensor, positions: Tensor) -> Tensor:
        """Rotate keys x (B, Hk, L, Dh); Hk may be less than H. The default calls ``rotate``."""
        return self.rotate(x, positions)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """What is added to the scores, broadcastable to (B, H, Lq, Lk); None for nothing.

        As it is, after any factor of the attention's own: in a softmax, ln 2 for a key counts as
        having that key twice.
        """
        return None

    def content_bias(
        self,
        q: Tensor,
        k: Tensor,
        q_positions: Tensor,
        k_positions: Tensor,
        mask: Tensor | None,
    ) -> Tensor | None:
        """What is added to the scores as well, where it depends on queries and keys.

        q: (B, H, Lq, Dh), k: (B, H, Lk, Dh), rotated. mask: bool, broadcastable to (B, H, Lq, Lk),
        True where a query may attend; None: everywhere. Returns (B, H, Lq, Lk), to be added to
        q·k / √Dh, or None for nothing.
        """
        return None

    @property
    def reads_content(self) -> bool:
        """Whether ``content_bias`` is overridden."""
        return type(self).content_bias is not PositionalEncoding.content_bias

    @property
    def adds_bias(self) -> bool:
        """Whether ``bias`` or ``content_bias`` is overridden."""
        return self.reads_content or type(self).bias is not PositionalEncoding.bias


@part("pe", "none")
class NoPositions(PositionalEncoding):
    """No positions: the order of the tokens is not known."""


NO_POSITIONS = NoPositions(dim=0, heads=0, head_dim=0, max_length=0)


class Angles(nn.Module):
    """position · base^(-2i/width) for i = 0 .. width/2 - 1 (Vaswani et al. 2017, section 3.5).

    Raises ValueError for a base of 1 or less, whose wavelengths would not grow.
    """

    frequencies: Tensor

    def __init__(self, width: int, base: float) -> None:
        super().__init__()
        if not base > 1:
            raise ValueError(f"base must be above 1, not {base}")
        frequencies = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        self.register_buffer("frequencies", frequencies.float(), persistent=False)

    def forward(self, positions: Tensor) -> Tensor:
        """Positions (L) or (B, L) to angles (L, width / 2) or (B, L, width / 2)."""
        return positions[..., None] * self.frequencies

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Angles:
        """Follow the model's device and type, but stay in float32 or wider.

        In bfloat16 the angle of position 500 would be off by whole radians.
        """
        exact = self.frequencies
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if torch.finfo(self.frequencies.dtype).bits < 32:
            self.frequencies = exact.to(self.frequencies.device)
        return self
