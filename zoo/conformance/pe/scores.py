"""What an encoding does to scores: by rotation, by bias."""

from __future__ import annotations

import torch

from zoo.conformance.base import both, check, needs, unless
from zoo.conformance.compare import close, finite, largest, must
from zoo.conformance.setups.base import HEADS, normal
from zoo.conformance.setups.pe import BATCH, HEAD_DIM, PositionRig, as_scores

LENGTH, SHIFT = 6, 5


@check("pe", applies=needs("rotate"))
def rotation_norm(rig: PositionRig) -> None:
    """Rotating keeps the length of every query and key."""
    encoding = rig.encoding()
    heads = normal(rig.generator(0), BATCH, HEADS, LENGTH, HEAD_DIM)
    for start in (0, 500):
        turned = encoding.rotate(heads, torch.arange(LENGTH) + start)
        close(turned.norm(dim=-1), heads.norm(dim=-1), f"lengths at positions from {start} on")


@check("pe", applies=both(needs("rotate"), unless("absolute")))
def rotation_offset(rig: PositionRig) -> None:
    """Scores of rotated queries and keys depend on the offset of their positions alone."""
    encoding = rig.encoding()
    generator = rig.generator(0)
    q = normal(generator, BATCH, HEADS, LENGTH, HEAD_DIM)
    k = normal(generator, BATCH, HEADS, LENGTH, HEAD_DIM)

    def scores(start: int) -> torch.Tensor:
        positions = torch.arange(LENGTH) + start
        return encoding.rotate(q, positions) @ encoding.rotate(k, positions).mT

    # Looser than rounding in float64: angles may be kept in float32.
    for start in (SHIFT, 400):
        close(scores(start), scores(0), f"scores {start} positions later", tolerance=1e-4)


@check("pe", applies=needs("bias"))
def bias_direction(rig: PositionRig) -> None:
    """The bias of (i, j) is that of (j, i), or it declares `directed` and it is not."""
    encoding = rig.encoding()
    bias = as_scores(encoding, torch.arange(LENGTH))
    off = largest(bias - bias.mT)
    must(
        off < 1e-9 or rig.can("directed"),
        f"bias of (i, j) and (j, i) differ by {off:.3g}: one side is favoured, and 'directed' is "
        "not declared",
    )
    must(off > 1e-9 or not rig.can("directed"), "declares 'directed', yet its bias is symmetric")


@check("pe", applies=both(needs("bias"), unless("absolute")))
def bias_offset(rig: PositionRig) -> None:
    """The bias depends on the offset of positions alone."""
    encoding = rig.encoding()
    positions = torch.arange(LENGTH)
    bias = as_scores(encoding, positions)
    close(as_scores(encoding, positions + SHIFT), bias, f"bias {SHIFT} positions later")


@check("pe", applies=needs("bias"))
def bias_shape(rig: PositionRig) -> None:
    """The bias is finite, and (Lq, Lk) for one head or for all."""
    encoding = rig.encoding()
    bias = encoding.bias(torch.arange(3), torch.arange(LENGTH))
    assert bias is not None
    must(
        bias.dim() in (3, 4) and tuple(bias.shape[-2:]) == (3, LENGTH),
        f"shape {tuple(bias.shape)}, where (H or 1, 3, {LENGTH}) is expected",
    )
    must(bias.shape[-3] in (1, HEADS), f"{bias.shape[-3]} heads instead of 1 or {HEADS}")
    finite(bias, "bias")
