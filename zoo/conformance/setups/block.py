"""The rig for blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from zoo.components.block.base import Block, LayerContext
from zoo.components.tokens import Tokens
from zoo.conformance.probes import PlainAttention, Probe
from zoo.conformance.setups.attention import padded_tokens
from zoo.conformance.setups.base import DIM, HEADS, Case, ModuleRig, normal, shake
from zoo.models.seeding import seeded

BATCH = 3


class BlockRig(ModuleRig):
    """Builds ``Block(attention, ffn, norm, dropout=, cross=)`` from plain parts."""

    passes = ("attention", "ffn", "norm", "dropout", "cross")
    takes_dropout = True

    @property
    def contract(self) -> type:
        """See Rig.contract."""
        return Block

    def make(self, dropout: float) -> Any:
        """See Rig.make."""
        return self.choice.build(
            PlainAttention(DIM, HEADS), plain_ffn(), lambda: nn.LayerNorm(DIM), dropout=dropout
        )

    def can(self, *capabilities: str) -> bool:
        """Whether the choice declares all of these."""
        return self.choice.can(*capabilities)

    def block(
        self,
        *,
        ffn: bool = True,
        cross: bool = False,
        norm: Callable[[], nn.Module] = lambda: nn.LayerNorm(DIM),
        silent: bool = False,
        dropout: float = 0.0,
    ) -> Block:
        """A block with or without some of its parts, in float64 and evaluation mode.

        silent: with sub-layers that give zeros, and the block's own weights as it starts.
        """
        with seeded(self.settings.seed, "checks/build"):
            attention, inner = PlainAttention(DIM, HEADS), plain_ffn() if ffn else None
            more = {"cross": PlainAttention(DIM, HEADS)} if cross else {}
            block = cast(Block, self.choice.build(attention, inner, norm, dropout=dropout, **more))
            if not silent:
                shake(block)
        for part in (attention.out, *(inner or ())) if silent else ():
            for parameter in part.parameters():
                nn.init.zeros_(parameter)
        return block.double().eval()

    def cases(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        length: int = 6,
        texts: slice = slice(None),
    ) -> list[Case]:
        """See ModuleRig.cases."""
        x = normal(self.generator(seed), BATCH, length, DIM, dtype=dtype)[texts]
        padded = padded_tokens(length)
        assert padded.attention_mask is not None
        tokens = Tokens(padded.attention_mask[texts], padded.positions)
        scene = LayerContext(tokens, Probe(rotates=True, biases=True, heads=HEADS))
        fixed = (tokens.positions, padded.attention_mask[texts])
        few = (x.shape[0], 2, DIM)

        def block(scene: LayerContext) -> Any:
            return lambda module, x: module(x, scene)

        return [
            Case("padded", (x,), block(scene), tuple(x.shape), fixed),
            Case("causal", (x,), block(replace(scene, causal=True)), tuple(x.shape), fixed),
            Case("few rows", (x,), block(replace(scene, read=slice(1, 3))), few, fixed),
        ]


def plain_ffn() -> nn.Sequential:
    """A feed-forward network that is smooth everywhere."""
    return nn.Sequential(nn.Linear(DIM, 2 * DIM), nn.Tanh(), nn.Linear(2 * DIM, DIM))


def scene_of(length: int, **more: Any) -> LayerContext:
    """Whole texts with an encoding in every slot."""
    return LayerContext(Tokens.whole(length), Probe(rotates=True, biases=True, heads=HEADS), **more)


def texts_of(rig: ModuleRig, length: int, seed: int = 0) -> Tensor:
    """Inputs (B, L, D)."""
    return normal(rig.generator(seed), BATCH, length, DIM)
