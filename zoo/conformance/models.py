"""A whole model is a part too: token ids in, logits out, with the part in every layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Self

import torch

from zoo.config.sizes import Sizes
from zoo.conformance import parts
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import CAUSAL, CLASSES, DIM, HEADS, HIDDEN, PADDED, VOCAB, Call, Part
from zoo.models import build
from zoo.models.seeding import seeded
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins
from zoo.training.trainer import AuxiliaryLosses

PLAIN_PARTS = {"attention": "naive", "norm": "layer", "ffn": "gelu", "block": "pre"}
SIZES = Sizes(dim=DIM, layers=2, heads=HEADS, ffn_dim=HIDDEN, max_length=160, vocab_size=VOCAB)
CLASSIFIER, LANGUAGE_MODEL, SEQ2SEQ = "a classifier", "a language model", "an encoder-decoder"
BUILDERS: dict[str, Any] = {
    CLASSIFIER: build.build_classifier,
    LANGUAGE_MODEL: build.build_language_model,
    SEQ2SEQ: build.build_encoder_decoder,
}
NEEDS = {
    CLASSIFIER: {"attention": {"padding"}},
    LANGUAGE_MODEL: {"attention": {"padding", "causal"}},
    SEQ2SEQ: {"attention": {"padding", "causal", "cross"}, "block": {"cross"}},
}


@cache
def _plain(pe: str, pool: str) -> Cell:
    return Cell.parse(built_ins(), {**PLAIN_PARTS, "pe": pe, "pool": pool})


class ModelPart(Part):
    """A model with a part in all of its layers. pool: of a classifier."""

    ids, model, pool = True, CLASSIFIER, "mean"

    @classmethod
    def of(cls, part: Part, model: str = CLASSIFIER, **attributes: Any) -> Self:
        """Of this part; CheckSkipped where planning, or the part, refuses the model."""
        own = cls(part.choice, part.settings, part.files).but(model=model, **attributes)
        own.per_text = model == CLASSIFIER
        if reason := own.cell.refusal(SIZES, NEEDS[model]):
            raise CheckSkipped(f"planning allows no model with it: {reason}")
        neighbours = part.can("neighbours") and not part.can("causal")
        if model != CLASSIFIER and (part.kind == "pool" or neighbours):
            raise CheckSkipped("no decoder has it")
        try:
            own.build()
        except ValueError as error:
            raise CheckSkipped(f"it refuses the model: {error}") from None
        return own

    @property
    def ways(self) -> list[parts.Way]:
        cross = replace(CAUSAL, name="cross", cross=True)
        return [{CLASSIFIER: PADDED, LANGUAGE_MODEL: CAUSAL, SEQ2SEQ: cross}[self.model]]

    @property
    def out_dim(self) -> int:
        return CLASSES if self.model == CLASSIFIER else VOCAB

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
        jitter: float = parts.JITTER,
    ) -> Any:
        options: dict[str, Any] = {"vocab_size": VOCAB, "dropout": dropout}
        options["seed"] = self.settings.seed + seed
        options |= {"classes": CLASSES} if self.model == CLASSIFIER else {}
        model = BUILDERS[self.model](self.cell, SIZES, **options)
        with seeded(self.settings.seed, "checks/model"):
            parts.perturb(model, jitter)
        return model.to(dtype).eval()

    def call(self, module: Any, call: Call) -> Any:
        """Logits; auxiliary losses go to the call's list of losses."""
        cache = {"cache": call.more["cache"]} if "cache" in call.more else {}
        with AuxiliaryLosses(module).collected() as losses:
            if call.context is None or call.context_tokens is None:
                out = module(call.x, call.tokens, **cache)
            else:
                keys = call.context_tokens
                memory = module.encoder(call.context, keys)
                out = module.logits(module.decoder(call.x, call.tokens, memory, keys, **cache))
        call.more.get("losses", []).extend(losses)
        return out


def models_of(part: Part) -> Iterator[ModelPart]:
    """A classifier, and of the models that decode the largest, as far as planning allows them."""
    for models in ((CLASSIFIER,), (SEQ2SEQ, LANGUAGE_MODEL)):
        for model in models:
            try:
                yield ModelPart.of(part, model)
                break
            except CheckSkipped:
                continue


def any_model(part: Part) -> ModelPart:
    """A classifier or, of what is causal by nature, a language model; CheckSkipped for neither."""
    return ModelPart.of(part, LANGUAGE_MODEL if part.can("causal-only") else CLASSIFIER)
