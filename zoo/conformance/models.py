"""A whole model is a part too: token ids in, logits out, with the part in every layer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from zoo.config.sizes import Sizes
from zoo.conformance import parts
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import CAUSAL, CROSS, DIM, HEADS, HIDDEN, PADDED, VOCAB, Call, Part, Way
from zoo.models import build
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins
from zoo.training.trainer import AuxiliaryLosses

PLAIN_PARTS = {"attention": "naive", "norm": "layer", "ffn": "gelu", "block": "pre"}
SIZES = Sizes(dim=DIM, layers=2, heads=HEADS, ffn_dim=HIDDEN, max_length=160, vocab_size=VOCAB)
CLASSIFIER, LANGUAGE_MODEL, SEQ2SEQ = "a classifier", "a language model", "an encoder-decoder"
DECODER = {"attention": {"padding", "causal"}}
CROSSING = {"attention": {"padding", "causal", "cross"}, "block": {"cross"}}
# What builds a model, the way in which it calls its parts, and what they must declare.
MODELS: dict[str, tuple[Any, Way, dict[str, set[str]]]] = {
    CLASSIFIER: (build.build_classifier, PADDED, {"attention": {"padding"}}),
    LANGUAGE_MODEL: (build.build_language_model, CAUSAL, DECODER),
    SEQ2SEQ: (build.build_encoder_decoder, CROSS, CROSSING),
}


class ModelPart(Part):
    """A model with a part in all of its layers.

    Raises CheckSkipped where planning refuses the model, and ValueError where the part does.
    """

    def __init__(self, part: Part, model: str) -> None:
        super().__init__(part.choice, part.settings, part.files)
        self.model, self.contract = model, torch.nn.Module
        self.ids, self.per_text = True, model == CLASSIFIER
        self.builder, self.way, needs = MODELS[model]
        neighbours = part.can("neighbours") and not part.can("causal")
        decodes = part.kind != "pool" and not neighbours
        if self.cell.refusal(SIZES, needs) or not (decodes or model == CLASSIFIER):
            raise CheckSkipped("planning allows no model with it")
        self.build()

    @property
    def ways(self) -> list[Way]:
        return [self.way]

    def out_dim(self, module: Any) -> int:
        return parts.CLASSES if self.per_text else VOCAB

    @property
    def cell(self) -> Cell:
        """This part among plain ones, with an encoding that an attention can take."""
        pe = "sin"
        if self.kind == "attention":
            pe = "rope" if self.can("rotate") else "alibi" if self.can("bias") else pe
        plain = Cell.parse(built_ins(), {**PLAIN_PARTS, "pe": pe, "pool": "mean"})
        return Cell({**plain.axes, self.kind: (self.choice,)})

    def make(self, dropout: float = 0.0) -> Any:
        options = {"classes": parts.CLASSES} if self.per_text else {}
        options |= {"vocab_size": VOCAB, "seed": int(torch.randint(2**31, ()))}
        return self.builder(self.cell, SIZES, dropout=dropout, **options)

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
    """A classifier and the largest decoder, as far as planning allows them; of no baseline."""
    decoders = SEQ2SEQ, LANGUAGE_MODEL
    for models in ((CLASSIFIER,), decoders) if part.kind != "baseline" else ():
        for model in models:
            with contextlib.suppress(CheckSkipped, ValueError):
                yield ModelPart(part, model)
                break
