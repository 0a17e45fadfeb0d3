"""Encodings that are wrong in one way each."""

from __future__ import annotations

import torch
from specimens import Specimens, registering
from torch import nn

from zoo.components.pe.alibi import Alibi
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pe.learned import Learned
from zoo.components.pe.rope import Rotary
from zoo.components.pe.sin import Sinusoidal

bias = Specimens("pe", "bias", "order")
rotary = Specimens("pe", "rotate", "order")
added = Specimens("pe", "embed", "order")


content = Specimens("pe", "content-bias", "order")
zoo_register = registering(bias, rotary, added, content)


class Distance(Alibi):
    def scores(self, offset):
        return -self.slopes[:, None, None] * offset[..., None, :, :]


@bias.caught_by("bias-direction", "declare 'directed'")
class SignedAlibi(Distance):
    def bias(self, q_positions, k_positions):
        return self.scores(q_positions[..., :, None] - k_positions[..., None, :])


@bias.caught_by("bias-direction", "yet its bias is symmetric", also=("directed",))
class DirectedInNameAlone(Alibi):
    pass


@bias.caught_by("far-positions", "bias of keys")
class BiasOfInfinity(Alibi):
    def bias(self, q_positions, k_positions):
        found = super().bias(q_positions, k_positions)
        return found.masked_fill(found < -0.1, -torch.inf)


@bias.caught_by("positions", "bias at positions \\[4, 1, 3\\] of 6")
class BiasByRow(Alibi):
    def bias(self, q_positions, k_positions):
        q, k = (torch.arange(p.shape[-1]) for p in (q_positions, k_positions))
        return super().bias(q, k)


@rotary.caught_by("slots", "its bias acts")
class BiasUndeclared(Rotary):
    def bias(self, q_positions, k_positions):
        return -(q_positions[..., :, None] - k_positions[..., None, :]).abs()[..., None, :, :]


@rotary.caught_by("slots", "changes nothing", without=("order",))
class RotatesNothing(PositionalEncoding):
    pass


@rotary.caught_by("rotation-norm", "norms at positions")
class Stretches(Rotary):
    def rotate(self, x, positions):
        return super().rotate(x, positions) * (1 + 0.01 * positions[..., None, :, None])


@rotary.caught_by("positions", "rotate at positions \\[4, 1, 3\\] of 6")
class TurnsByRow(Rotary):
    def rotate(self, x, positions):
        return super().rotate(x, torch.arange(x.shape[-2]))


@rotary.caught_by("positions", "RuntimeError|rotate of one text")
class OnePositionForAllTexts(Rotary):
    def rotate(self, x, positions):
        return super().rotate(x, positions[0] if positions.dim() == 2 else positions)


@added.caught_by("embed-adds", "embeddings and to zeros")
class ScalesEmbeddings(Sinusoidal):
    def embed(self, x, positions):
        return super().embed(2 * x, positions)


@added.caught_by("order", "declares 'order', but exchanging tokens 0 and 1")
class PairsShareOnePlace(Sinusoidal):
    def embed(self, x, positions):
        return super().embed(x, positions // 2)


@added.caught_by("order", "but 'order' is not declared", without=("order",))
class OrderUndeclared(Sinusoidal):
    pass


@added.caught_by("length", "yet takes position", also=("fixed-length",))
class WrapsAround(Learned):
    def embed(self, x, positions):
        return super().embed(x, positions % self.table.num_embeddings)


@added.caught_by("length", "refuses position")
class FixedLengthUndeclared(Learned):
    pass


@added.caught_by("learns", "no gradient reaches unused")
class ParameterUnused(Learned):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.unused = nn.Parameter(torch.ones(3))


@rotary.caught_by("positions", "rotate at positions \\[5, 2, 0, 4, 1, 3\\] of 6")
class AnglesKeptByLength(Rotary):
    def rotate(self, x, positions):
        if not hasattr(self, "content"):
            self.content = {}
        return super().rotate(x, self.content.setdefault(positions.shape[-1], positions))


@added.caught_by("order", "1184 of 1200 positions")
class BeginsAgain(Sinusoidal):
    def embed(self, x, positions):
        return super().embed(x, positions % 16)


@content.caught_by("positions", "content bias of queries at positions \\[4, 1, 3\\] of 6")
class ContentByRow(PositionalEncoding):
    def content_bias(self, q, k, q_positions, k_positions, mask):
        rows, columns = torch.arange(q.shape[-2]), torch.arange(k.shape[-2])
        return q @ k.mT * (rows[:, None] - columns).abs()
