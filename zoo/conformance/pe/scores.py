"""The effect of an encoding on scores: rotation and bias."""

from __future__ import annotations

import torch

from zoo.conformance.assertions import close, finite, largest, must
from zoo.conformance.check import both, check, needs, unless
from zoo.conformance.setups.encoding_setup import HEAD_DIM, EncodingSetup, as_scores
from zoo.conformance.setups.setup import BATCH, HEADS, normal

LENGTH, SHIFT = 6, 5


@check("pe", applies=needs("rotate"))
def rotation_norm(setup: EncodingSetup) -> None:
    """Rotating preserves the norm of every query and key."""
    encoding = setup.build()
    heads = normal(setup.generator(0), BATCH, HEADS, LENGTH, HEAD_DIM)
    for start in (0, 500):
        rotated = encoding.rotate(heads, torch.arange(LENGTH) + start)
        close(rotated.norm(dim=-1), heads.norm(dim=-1), f"norms at positions from {start} on")


@check("pe", applies=both(needs("rotate"), unless("absolute")))
def rotation_offset(setup: EncodingSetup) -> None:
    """Scores of rotated queries and keys depend only on the offset of their positions."""
    encoding = setup.build()
    generator = setup.generator(0)
    q = normal(generator, BATCH, HEADS, LENGTH, HEAD_DIM)
    k = normal(generator, BATCH, HEADS, LENGTH, HEAD_DIM)

    def scores(start: int) -> torch.Tensor:
        positions = torch.arange(LENGTH) + start
        rotated_q, rotated_k = (encoding.rotate(x, positions) for x in (q, k))
        return torch.matmul(rotated_q, rotated_k.mT)

    # Looser than rounding in float64: angles may be stored in float32.
    for start in (SHIFT, 400):
        close(scores(start), scores(0), f"scores {start} positions later", tolerance=1e-4)


@check("pe", applies=needs("bias"))
def bias_direction(setup: EncodingSetup) -> None:
    """The bias of (i, j) is that of (j, i), or it declares `directed` and it is not."""
    encoding = setup.build()
    bias = as_scores(encoding, torch.arange(LENGTH))
    off = largest(bias - bias.mT)
    must(
        off < 1e-9 or setup.can("directed"),
        f"bias of (i, j) and (j, i) differ by {off:.3g}: declare 'directed'",
    )
    must(off > 1e-9 or not setup.can("directed"), "declares 'directed', yet its bias is symmetric")


@check("pe", applies=both(needs("bias"), unless("absolute")))
def bias_offset(setup: EncodingSetup) -> None:
    """The bias depends only on the offset of positions."""
    encoding = setup.build()
    positions = torch.arange(LENGTH)
    bias = as_scores(encoding, positions)
    close(as_scores(encoding, positions + SHIFT), bias, f"bias {SHIFT} positions later")


@check("pe", applies=needs("bias"))
def bias_shape(setup: EncodingSetup) -> None:
    """The bias is finite, and (Lq, Lk) for one head or for all."""
    encoding = setup.build()
    bias = encoding.bias(torch.arange(3), torch.arange(LENGTH))
    assert bias is not None
    must(
        bias.dim() in (3, 4) and tuple(bias.shape[-2:]) == (3, LENGTH),
        f"shape {tuple(bias.shape)}, where (H or 1, 3, {LENGTH}) is expected",
    )
    must(bias.shape[-3] in (1, HEADS), f"{bias.shape[-3]} heads instead of 1 or {HEADS}")
    finite(bias, "bias")
