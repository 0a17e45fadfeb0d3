"""A whole model is a part too: token ids in, logits out, with the part in every layer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Self, cast

import torch
from torch import Tensor

from zoo.config.sizes import Sizes
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import (
    CLASSES,
    DIM,
    HEADS,
    HIDDEN,
    JITTER,
    PADDED,
    VOCAB,
    Call,
    ModulePart,
    Way,
    ids_of,
    perturb,
)
from zoo.models.build import build_classifier, build_language_model
from zoo.models.seeding import seeded
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins
from zoo.training.trainer import AuxiliaryLosses

# A plain encoding that needs the slot, and the other plain parts of a model.
ENCODINGS = {"embed": "sin", "rotate": "rope", "bias": "alibi"}
PLAIN_PARTS = {"attention": "naive", "norm": "layer", "ffn": "gelu", "block": "pre"}
SIZES = Sizes(dim=DIM, layers=2, heads=HEADS, ffn_dim=HIDDEN, max_length=160, vocab_size=VOCAB)


@cache
def _plain(pe: str, pool: str) -> Cell:
    return Cell.parse(built_ins(), {**PLAIN_PARTS, "pe": pe, "pool": pool})


def cell_of(part: ModulePart, pe: str = "sin", pool: str = "mean") -> Cell:
    """A cell of plain parts and this one."""
    return Cell({**_plain(pe, pool).axes, part.kind: (part.choice,)})


def encoding_of(part: ModulePart) -> str:
    """The name of an encoding that an attention can take, of any other part a plain one."""
    slots = ("rotate", "bias") if part.kind == "attention" else ()
    return ENCODINGS[next(filter(part.can, slots), "embed")]


class ModelPart(ModulePart):
    """A classifier, or a language model, with a part in all of its layers.

    decoder: whether it is a language model. sizes: of the model. pool: of a classifier.
    all_positions: whether the last layer computes rows that the pool does not read.
    """

    decoder = False
    sizes = SIZES
    pool = "mean"
    all_positions = False
    kind_sides: tuple[str, ...] = ModulePart.sides

    @classmethod
    def of(cls, part: ModulePart, **attributes: Any) -> Self:
        """Of this part; CheckSkipped where planning, or the part, refuses the model."""
        model = cls(part.choice, part.settings, part.files).but(**attributes)
        needs = {"attention": {"padding", "causal"} if model.decoder else {"padding"}}
        if reason := model.cell.refusal(model.sizes, needs):
            raise CheckSkipped(f"planning allows no model with it: {reason}")
        try:
            model.build()
        except ValueError as error:
            raise CheckSkipped(f"it refuses the model: {error}") from None
        if part.kind == "pool":
            model.kind_sides = part.sides
        return model

    @property
    def cell(self) -> Cell:
        """What it is assembled from."""
        return cell_of(self, encoding_of(self), self.pool)

    @property
    def per_text(self) -> bool:  # type: ignore[override]
        """Whether it is a classifier."""
        return not self.decoder

    @property
    def sides(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the pool in a classifier."""
        return ModulePart.sides if self.decoder else self.kind_sides

    @property
    def ways(self) -> list[Way]:
        """A model is called in one way."""
        return [Way("causal", True, True, causal=True) if self.decoder else PADDED]

    def build(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        dropout: float = 0.0,
        jitter: float = JITTER,
    ) -> Any:
        options: dict[str, Any] = {
            "vocab_size": VOCAB,
            "seed": self.settings.seed + seed,
            "dropout": dropout,
        }
        model: Any
        if self.decoder:
            model = build_language_model(self.cell, self.sizes, **options)
        else:
            model = build_classifier(self.cell, self.sizes, classes=CLASSES, **options)
            if self.all_positions:
                model.encoder.all_positions = True
        if jitter:
            with seeded(self.settings.seed, "checks/model"):
                perturb(model, jitter)
        return model.to(dtype).eval()

    def draw(self, length: int, *, seed: int = 0, texts: int = 3) -> Tensor:
        return ids_of(self, length, seed, texts)

    def call(self, module: Any, call: Call) -> Tensor:
        """Logits; auxiliary losses go to the call's list of losses."""
        with AuxiliaryLosses(module).collected() as losses:
            more = {"cache": call.more["cache"]} if "cache" in call.more else {}
            out = cast(Tensor, module(call.x, call.tokens, **more))
        call.more.get("losses", []).extend(losses)
        return out

    def shape(self, call: Call) -> tuple[int, ...]:
        return (*call.x.shape, VOCAB) if self.decoder else (len(call.x), CLASSES)


def models_of(part: ModulePart, **attributes: Any) -> Iterator[ModelPart]:
    """A classifier and a language model with the part, as far as planning allows them."""
    neighbours = part.can("neighbours") and not part.can("causal")
    for decoder in (False, True) if part.kind != "pool" and not neighbours else (False,):
        try:
            yield ModelPart.of(part, decoder=decoder, **attributes)
        except CheckSkipped:
            continue


def any_model(part: ModulePart, **attributes: Any) -> ModelPart:
    """A classifier or, of what is causal by nature, a language model; CheckSkipped for neither."""
    return ModelPart.of(part, decoder=part.can("causal-only"), **attributes)
