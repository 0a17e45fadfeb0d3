"""Post-norm with a heavier residual and smaller initial weights, for deep stacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.attention.base import Attention, ProjectedAttention
from zoo.components.attention.projections import Projection
from zoo.components.block.base import Block, Sublayer


@part(
    "block",
    "deepnorm",
    source="Wang et al. 2022, DeepNet, figure 2, https://arxiv.org/abs/2203.00555",
)
class DeepNorm(Block):
    """Post-norm with a heavier residual and smaller initial weights, for deep stacks.

    norm(α x + f(x)), initial weights of W_v, W_o and the network times β.

    Wang et al. 2022, DeepNet, figure 2: with N layers α = (2N)^¼ and β = (8N)^-¼ in an encoder or
    a decoder alone; α = (3N)^¼ and β = (12N)^-¼ in a decoder with cross-attention. The encoder
    before such a decoder has the values of an encoder alone, because its layers do not know of it.
    Choices: β scales the weights as they are initialised, by Xavier's rule or another; all matrices
    of a feed-forward network count; a mixer that has a layer ``out`` and no projections of the
    zoo's has W_o times β², because its values are not known. ValueError where there is neither.
    """

    packs = True

    def __init__(
        self,
        attention: Attention,
        ffn: nn.Module | None,
        norm: Callable[[], nn.Module],
        *,
        cross: Attention | None = None,
        layer_count: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(attention, ffn, norm, cross=cross, **options)
        sublayers = 2 if cross is None else 3
        self.alpha = (sublayers * layer_count) ** 0.25
        beta = (4 * sublayers * layer_count) ** -0.25
        for sublayer in (attention, cross):
            if sublayer is not None:
                scale_values_and_output(sublayer, beta)
        with torch.no_grad():
            for parameter in () if ffn is None else ffn.parameters():
                if parameter.dim() > 1:
                    parameter.mul_(beta)

    def arrange(self, x: Tensor, sublayer: Sublayer, norm: nn.Module, rows: slice) -> Tensor:
        out: Tensor = norm(self.alpha * x[:, rows] + self.drop(sublayer(x)))
        return out


@torch.no_grad()
def scale_values_and_output(attention: Attention, factor: float) -> None:
    """Multiply W_v and W_o by the factor, also of attentions within this one; else as above."""
    found = False
    for module in attention.modules():
        if isinstance(module, ProjectedAttention):
            scale_values(module.project, module.heads * module.head_dim, factor)
            module.out.weight.mul_(factor)
            found = True
        elif isinstance(module, nn.MultiheadAttention):
            module.in_proj_weight.chunk(3)[2].mul_(factor)
            module.out_proj.weight.mul_(factor)
            found = True
        elif isinstance(module, Attention) and isinstance(getattr(module, "out", None), nn.Linear):
            module.out.weight.mul_(factor**2)  # the same function at first, if linear in the values
            found = True
    if not found:
        kind = type(attention).__name__
        raise ValueError(f"deepnorm scales W_v and W_o, and finds neither in the attention {kind}")


def scale_values(project: Projection, dim: int, factor: float) -> None:
    """Multiply the rows of matrices that values depend on, and queries and keys do not.

    The gradients tell which rows those are, whatever the layout: packed, per head, of fewer heads.
    """
    matrices = [p for p in project.parameters() if p.dim() == 2]
    with torch.enable_grad():
        x = matrices[0].new_ones(1, 1, dim)
        reached = [rows_reached(part, matrices) for part in project(x, x)]
    for matrix, q, k, v in zip(matrices, *reached, strict=True):
        matrix.mul_(torch.where(v & ~q & ~k, factor, 1.0)[:, None])


def rows_reached(out: Tensor, matrices: list[Tensor]) -> list[Tensor]:
    """For every matrix, which of its rows have a gradient of out's sum: bool (rows)."""
    gradients = torch.autograd.grad(out.sum(), matrices, retain_graph=True, allow_unused=True)
    return [
        (torch.zeros_like(matrix) if gradient is None else gradient).ne(0).any(dim=1)
        for matrix, gradient in zip(matrices, gradients, strict=True)
    ]
