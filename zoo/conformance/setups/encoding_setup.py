"""The set-up for positional encodings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from zoo.components.pe.base import PositionalEncoding
from zoo.conformance.setups.setup import (
    BATCH,
    DIM,
    HEADS,
    MAX_LENGTH,
    Case,
    ModuleSetup,
    normal,
)

HEAD_DIM = DIM // HEADS


class EncodingSetup(ModuleSetup):
    """Builds ``PositionalEncoding(dim=, heads=, head_dim=, max_length=)`` and calls its slots."""

    passes = ("dim", "heads", "head_dim", "max_length")
    contract = PositionalEncoding

    def make(self, dropout: float = 0.0) -> Any:
        """Build the encoding."""
        return self.choice.build(dim=DIM, heads=HEADS, head_dim=HEAD_DIM, max_length=MAX_LENGTH)

    def _cases(
        self, generator: torch.Generator, dtype: torch.dtype, length: int, texts: slice
    ) -> list[Case]:
        x = normal(generator, BATCH, length, DIM, dtype=dtype)[texts]
        heads = normal(generator, BATCH, HEADS, length, HEAD_DIM, dtype=dtype)[texts]

        def cases_at(positions: Tensor, where: str) -> list[Case]:
            def bias(module: PositionalEncoding, x: Tensor) -> Tensor:
                # Plus 0 · x, so that this slot too is a function of its input.
                return x.sum() * 0 + as_scores(module, positions).to(x.dtype)

            def case(name: str, x: Tensor, call: Callable[..., Tensor], shape: Any) -> Case:
                return Case(name + where, (x,), call, tuple(shape), (positions,))

            cases = [
                case("embed", x, lambda module, x: module.embed(x, positions), x.shape),
                case("rotate", heads, lambda module, x: module.rotate(x, positions), heads.shape),
            ]
            if self.can("bias"):
                cases.append(case("bias", x, bias, (HEADS, length, length)))
            return cases

        first = torch.arange(length)
        far = MAX_LENGTH - 1 - 3 * first.flip(0)
        return [*cases_at(first, ""), *cases_at(far, ", far positions")]


def as_scores(encoding: PositionalEncoding, q: Tensor, k: Tensor | None = None) -> Tensor:
    """The bias expanded to (…, H, Lq, Lk), as attention adds it; zeros where there is none."""
    k = q if k is None else k
    bias = encoding.bias(q, k)
    if bias is None:
        return torch.zeros(HEADS, q.shape[-1], k.shape[-1], dtype=torch.float64)
    return bias.expand(*bias.shape[:-3], HEADS, q.shape[-1], k.shape[-1])
