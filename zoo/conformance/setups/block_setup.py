"""The set-up for blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.attention.split import Split
from zoo.components.block.base import Block, LayerContext
from zoo.components.tokens import Tokens
from zoo.conformance.reference_parts import ReferenceEncoding
from zoo.conformance.setups.setup import (
    BATCH,
    DIM,
    HEADS,
    Case,
    ModuleSetup,
    normal,
    padded_tokens,
    perturb,
    token_tensors,
)
from zoo.models.seeding import seeded


class BlockSetup(ModuleSetup):
    """Builds ``Block(attention, ffn, norm, dropout=, cross=)`` from plain parts."""

    passes = ("attention", "ffn", "norm", "dropout", "cross")
    contract = Block
    takes_dropout = True

    def make(self, dropout: float = 0.0) -> Any:
        """Build the block."""
        return self.choice.build(
            Split(DIM, HEADS), plain_ffn(), lambda: nn.LayerNorm(DIM), dropout=dropout
        )

    def block(
        self,
        *,
        ffn: bool = True,
        cross: bool = False,
        norm: Callable[[], nn.Module] = lambda: nn.LayerNorm(DIM),
        silent: bool = False,
        dropout: float = 0.0,
    ) -> Any:
        """A block with or without some of its parts, in float64 and evaluation mode.

        silent: with sub-layers that give zeros, and the block's own weights as initialised.
        """
        with seeded(self.settings.seed, "checks/build"):
            attention, inner = Split(DIM, HEADS), plain_ffn() if ffn else None
            more = {"cross": Split(DIM, HEADS)} if cross else {}
            block = self.choice.build(attention, inner, norm, dropout=dropout, **more)
            if not silent:
                perturb(block)
        for part in (attention.out, *(inner or ())) if silent else ():
            for parameter in part.parameters():
                nn.init.zeros_(parameter)
        return block.double().eval()

    def _cases(
        self, generator: torch.Generator, dtype: torch.dtype, length: int, texts: slice
    ) -> list[Case]:
        x = normal(generator, BATCH, length, DIM, dtype=dtype)[texts]
        padded = replace(context_of(length), tokens=padded_tokens(length, texts))

        def case(name: str, context: LayerContext, rows: int = length) -> Case:
            shape, fixed = (x.shape[0], rows, DIM), token_tensors(context.tokens)
            return Case(name, (x,), lambda block, x: block(x, context), shape, fixed)

        return [
            case("padded", padded),
            case("causal", replace(padded, causal=True)),
            case("few rows", replace(padded, read=slice(1, 3)), rows=2),
        ]

    def hidden_states(self, length: int) -> Tensor:
        """Inputs (B, L, D)."""
        return normal(self.generator(0), BATCH, length, DIM)


def plain_ffn() -> nn.Sequential:
    """A feed-forward network that is smooth everywhere."""
    return nn.Sequential(nn.Linear(DIM, 2 * DIM), nn.Tanh(), nn.Linear(2 * DIM, DIM))


def context_of(length: int, **more: Any) -> LayerContext:
    """Whole texts, and an encoding that rotates and adds a bias."""
    encoding = ReferenceEncoding(rotates=True, biases=True, heads=HEADS)
    return LayerContext(Tokens.whole(length), encoding, **more)
