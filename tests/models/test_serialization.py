"""Whole models can be copied, pickled and saved by torch."""

import copy
import io
import pickle
from functools import partial
from typing import Any

import pytest
import torch
from small_models import classifier, encoder_decoder, language_model, some_ids
from torch import nn

from zoo.components.tokens import Tokens


def pickled(model: nn.Module) -> Any:
    return pickle.loads(pickle.dumps(model))


def saved(model: nn.Module) -> Any:
    buffer = io.BytesIO()
    torch.save(model, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)


IDS, TOKENS = some_ids(2, 6), Tokens.whole(6)
MODELS = {
    "classifier": (classifier, (IDS, TOKENS)),
    "hybrid": (partial(classifier, attention="single/fused"), (IDS, TOKENS)),
    "language model": (language_model, (IDS, TOKENS)),
    "encoder-decoder": (encoder_decoder, (IDS, TOKENS, IDS, TOKENS)),
}
WAYS = pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, pickled, saved], ids=lambda f: f.__name__
)


@WAYS
@pytest.mark.parametrize("kind", MODELS)
def test_a_copy_has_the_same_outputs_and_weights_of_its_own(registry, kind, duplicate):
    build, inputs = MODELS[kind]
    model = build(registry, pe="alibi", norm="rms", ffn="swiglu", dropout=0.2).eval()
    with torch.no_grad():
        expected = model(*inputs)
        other = duplicate(model)
        assert torch.equal(other(*inputs), expected)
        next(other.parameters()).add_(1.0)
        assert torch.equal(model(*inputs), expected)
        assert not torch.equal(other(*inputs), expected)


def test_every_registered_component_can_be_copied(registry):
    for axis in ("attention", "pe", "norm", "ffn", "block", "pool"):
        for name in map(str, registry.choices(axis, "all")):
            pe = {"pe": "none"} if name == "torch" else {}
            model = classifier(registry, **{**pe, axis: name}).eval()
            assert torch.equal(pickled(model)(IDS, TOKENS), model(IDS, TOKENS)), (axis, name)
