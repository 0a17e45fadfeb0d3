"""FNet: tokens mixed by a Fourier transform."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo import part
from zoo.components.attention.base import Attention
from zoo.components.dropout import dropout
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo_efficient.padding import ranks

NORMS = ("ortho", "backward")


@part(
    "attention",
    "fourier",
    source="Lee-Thorp et al. 2022, FNet, https://arxiv.org/abs/2105.03824",
    adds=("padding", "order", "one-head"),
)
class Fourier(Attention):
    """FNet: tokens mixed by a Fourier transform, nothing learned.

    y = Re(F_seq(F_hidden(x))): y_kd = s Re Σ_j Σ_c x_jc exp(-2πi (jk/n + cd/D)).

    Lee-Thorp et al. 2022, section 3.2; nothing is learned, and there are no heads.
    Exact: the discrete transform over the n real tokens of each text only, so that neither
    padding nor the other texts of a batch change it.
    Cost: D · L log L in time, D · L in memory, for any mix of lengths in a batch.
    Choices: the paper transforms padding too; here a text's real tokens count from 0 to n - 1, and
    the output at padding is zero. s = 1/√(nD) (``norm='ortho'``) keeps the scale of x for texts of
    any length, as a block with residuals needs; the paper's s = 1 is ``norm='backward'``, as in
    torch.fft. Dropout is applied to x.
    Computed in float32 under half precision.
    """

    def __init__(
        self, dim: int, heads: int = 1, *, dropout: float = 0.0, norm: str = "ortho"
    ) -> None:
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f"norm must be one of {', '.join(NORMS)}, not {norm!r}")
        self.heads, self.head_dim = 1, dim
        self.dropout, self.norm = dropout, norm

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        """x (B, L, D) to (B, L, D)."""
        dtype = x.dtype
        x = x.float() if dtype in (torch.bfloat16, torch.float16) else x
        x = dropout(x, self.dropout, self.training)
        tokens = layer.tokens
        if tokens.attention_mask is None:
            y: Tensor = torch.fft.fft2(x, norm=self.norm).real
            return y.to(dtype)
        return self._mix_real(x, tokens, tokens.attention_mask).to(dtype)

    def _mix_real(self, x: Tensor, tokens: Tokens, attention_mask: Tensor) -> Tensor:
        """The transform of each text's real tokens; zero at padding."""
        width = x.shape[-1]
        rank, count = ranks(tokens, x.shape[1], x.device)  # (B, L), (B, 1)
        count = count.clamp_min(1)
        # Real tokens first, in their order: h[:, j] is a text's j-th token.
        order = (~attention_mask).to(torch.uint8).argsort(dim=1, stable=True)
        h = x.masked_fill(~attention_mask[..., None], 0).take_along_dim(order[..., None], dim=1)
        y = transform_rows(torch.fft.rfft(h, norm=self.norm), count)  # d = 0 .. D / 2
        if self.norm == "ortho":
            y = y / count[..., None].to(y.dtype).sqrt()
        # x is real, so column D - d is the conjugate of column d at position -k mod n.
        mirrored = y[..., 1 : (width + 1) // 2].flip(-1)
        y = torch.cat(
            [
                y.take_along_dim(rank[..., None], dim=1),
                mirrored.take_along_dim((-rank % count)[..., None], dim=1),
            ],
            dim=-1,
        )
        return y.masked_fill(~attention_mask[..., None], 0)


def transform_rows(h: Tensor, count: Tensor) -> Tensor:
    """Re Σ_{j<n} h_j exp(-2πi jk/n) for k < n, with its own n for each text, in O(L log L).

    h: complex (B, L, ·), zero from position n on; count: n, int (B, 1). The output from position n
    on is undefined.
    As 2 jk = j² + k² - (k - j)², with w = exp(-πi/n): Σ_j h_j w^(2jk) = w^(k²) Σ_j (h_j w^(j²))
    w^(-(k-j)²), a convolution (Bluestein 1970) of one length for all texts.
    """
    length = h.shape[1]
    size = 1 << (2 * length - 2).bit_length()  # the first power of two from 2 L - 1 on
    j = torch.arange(length, device=h.device)
    # w has period 2n: reduced as an integer, a large j² loses no digits.
    angle = math.pi * (j * j % (2 * count)).to(h.real.dtype) / count
    chirp = torch.polar(torch.ones_like(angle), -angle)  # w^(j²), (B, L)
    gap = chirp.new_zeros(len(chirp), size - 2 * length + 1)
    filters = torch.cat([chirp, gap, chirp[:, 1:].flip(1)], dim=1).conj()  # lags 0 .. L-1, .. -1
    spectrum = torch.fft.fft(h * chirp[..., None], n=size, dim=1)
    spectrum = spectrum * torch.fft.fft(filters)[..., None]
    y: Tensor = torch.fft.ifft(spectrum, dim=1)[:, :length] * chirp[..., None]
    return y.real
