"""A whole model is a part too: token ids in, logits out, with the part in every layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Self

import torch

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
    perturb,
)
from zoo.models.build import build_classifier, build_language_model
from zoo.models.seeding import seeded
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins
from zoo.training.trainer import AuxiliaryLosses

PLAIN_PARTS = {"attention": "naive", "norm": "layer", "ffn": "gelu", "block": "pre"}
SIZES = Sizes(dim=DIM, layers=2, heads=HEADS, ffn_dim=HIDDEN, max_length=160, vocab_size=VOCAB)


@cache
def _plain(pe: str, pool: str) -> Cell:
    return Cell.parse(built_ins(), {**PLAIN_PARTS, "pe": pe, "pool": pool})


class ModelPart(ModulePart):
    """A classifier, or a language model, with a part in all of its layers.

    decoder: whether it is a language model. pool: of a classifier.
    """

    ids, per_text, out_dim = True, True, CLASSES
    decoder, pool = False, "mean"
    ways: Sequence[Way] = (PADDED,)

    @classmethod
    def of(cls, part: ModulePart, *, decoder: bool = False, **attributes: Any) -> Self:
        """Of this part; CheckSkipped where planning, or the part, refuses the model."""
        model = cls(part.choice, part.settings, part.files).but(sides=part.sides, **attributes)
        if decoder:
            ways = (Way("causal", True, True, causal=True),)
            model = model.but(decoder=True, per_text=False, out_dim=VOCAB, ways=ways)
        needs = {"attention": {"padding", "causal"} if decoder else {"padding"}}
        if reason := model.cell.refusal(SIZES, needs):
            raise CheckSkipped(f"planning allows no model with it: {reason}")
        try:
            model.build()
        except ValueError as error:
            raise CheckSkipped(f"it refuses the model: {error}") from None
        return model

    @property
    def cell(self) -> Cell:
        """This part among plain ones, with an encoding that an attention can take."""
        pe = "sin"
        if self.kind == "attention":
            pe = "rope" if self.can("rotate") else "alibi" if self.can("bias") else pe
        return Cell({**_plain(pe, self.pool).axes, self.kind: (self.choice,)})

    def build(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        dropout: float = 0.0,
        jitter: float = JITTER,
    ) -> Any:
        options: dict[str, Any] = {"vocab_size": VOCAB, "seed": self.settings.seed + seed}
        model: Any
        if self.decoder:
            model = build_language_model(self.cell, SIZES, dropout=dropout, **options)
        else:
            options["classes"] = CLASSES
            model = build_classifier(self.cell, SIZES, dropout=dropout, **options)
        if jitter:
            with seeded(self.settings.seed, "checks/model"):
                perturb(model, jitter)
        return model.to(dtype).eval()

    def call(self, module: Any, call: Call) -> Any:
        """Logits; auxiliary losses go to the call's list of losses."""
        with AuxiliaryLosses(module).collected() as losses:
            more = {"cache": call.more["cache"]} if "cache" in call.more else {}
            out = module(call.x, call.tokens, **more)
        call.more.get("losses", []).extend(losses)
        return out


def models_of(part: ModulePart) -> Iterator[ModelPart]:
    """A classifier and a language model with the part, as far as planning allows them."""
    neighbours = part.can("neighbours") and not part.can("causal")
    for decoder in (False, True) if part.kind != "pool" and not neighbours else (False,):
        try:
            yield ModelPart.of(part, decoder=decoder)
        except CheckSkipped:
            continue


def any_model(part: ModulePart) -> ModelPart:
    """A classifier or, of what is causal by nature, a language model; CheckSkipped for neither."""
    return ModelPart.of(part, decoder=part.can("causal-only"))
