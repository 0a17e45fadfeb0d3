"""The rig for positional encodings."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn

from zoo.components.pe.base import PositionalEncoding
from zoo.conformance.setups.base import DIM, HEADS, MAX_LENGTH, Case, ModuleRig, normal

BATCH = 3
HEAD_DIM = DIM // HEADS


class PositionRig(ModuleRig):
    """Builds ``PositionalEncoding(dim=, heads=, head_dim=, max_length=)`` and calls its slots."""

    passes = ("dim", "heads", "head_dim", "max_length")

    @property
    def contract(self) -> type:
        """See Rig.contract."""
        return PositionalEncoding

    def make(self, dropout: float) -> Any:
        """See Rig.make."""
        return self.choice.build(dim=DIM, heads=HEADS, head_dim=HEAD_DIM, max_length=MAX_LENGTH)

    def encoding(self, **how: Any) -> PositionalEncoding:
        """As build, typed."""
        return cast(PositionalEncoding, self.build(**how))

    def can(self, *capabilities: str) -> bool:
        """Whether the choice declares all of these."""
        return self.choice.can(*capabilities)

    def cases(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        length: int = 6,
        texts: slice = slice(None),
    ) -> list[Case]:
        """See ModuleRig.cases; each slot near the beginning, and at far positions."""
        generator = self.generator(seed)
        x = normal(generator, BATCH, length, DIM, dtype=dtype)[texts]
        heads = normal(generator, BATCH, HEADS, length, HEAD_DIM, dtype=dtype)[texts]
        near = torch.arange(length)
        far = MAX_LENGTH - 1 - 3 * near.flip(0)

        def embed(positions: Tensor) -> Any:
            return lambda module, x: module.embed(x, positions)

        def rotate(positions: Tensor) -> Any:
            return lambda module, x: module.rotate(x, positions)

        def bias(positions: Tensor) -> Any:
            # Times the input, so that every slot is a function of one.
            return lambda module, x: x.sum() * 0 + as_scores(module, positions).to(x.dtype)

        cases = []
        for where, positions in (("", near), (", far positions", far)):
            fixed = (positions,)
            cases.append(Case(f"embed{where}", (x,), embed(positions), tuple(x.shape), fixed))
            cases.append(
                Case(f"rotate{where}", (heads,), rotate(positions), tuple(heads.shape), fixed)
            )
            if self.can("bias"):
                shape = (HEADS, length, length)
                cases.append(Case(f"bias{where}", (x,), bias(positions), shape, fixed))
        return cases


def as_scores(module: nn.Module, q: Tensor, k: Tensor | None = None) -> Tensor:
    """The bias spread over (…, H, Lq, Lk), as attention adds it; zeros where there is none."""
    k = q if k is None else k
    bias = cast(PositionalEncoding, module).bias(q, k)
    if bias is None:
        return torch.zeros(HEADS, q.shape[-1], k.shape[-1], dtype=torch.float64)
    return bias.expand(*bias.shape[:-3], HEADS, q.shape[-1], k.shape[-1])
