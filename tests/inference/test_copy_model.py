"""A loaded model can be copied, pickled and saved by torch, and predicts the same."""

import copy
import io
import pickle
from typing import Any

import pytest
import torch
from saved_models import weights_of

import zoo
from zoo.inference.attention_map import attention_map

TEXTS = ["the striker scored a goal", "shares of the bank"]


def pickled(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))


def saved(model: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(model, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
def test_a_copy_of_a_classifier_predicts_the_same(duplicate, trained):
    model = zoo.load(trained)
    expected = model.predict(TEXTS)
    other = duplicate(model)
    assert type(other) is type(model)
    assert other.predict(TEXTS) == expected
    assert other.card == model.card
    maps = [weights_of(attention_map(each, TEXTS[0])) for each in (other, model)]
    assert (maps[0] == maps[1]).all()
    with torch.no_grad():
        for weight in other.parameters():
            weight.zero_()
    assert other.predict(TEXTS) != expected
    assert model.predict(TEXTS) == expected


@pytest.mark.parametrize(
    ("kind", "prompt"), [("language_model", "the owl saw"), ("encoder_decoder", "a b c")]
)
def test_a_copy_of_a_generator_generates_the_same(kind, prompt, request):
    model = zoo.load(request.getfixturevalue(kind))
    expected = list(model.generate([prompt], max_new=6))
    other = saved(model)
    assert list(other.generate([prompt], max_new=6)) == expected
    assert other.card == model.card


def test_a_model_with_a_component_from_a_plug_in_file_can_be_copied(mapless):
    directory, plugin = mapless
    model = zoo.load(directory, plugins=[plugin])
    assert pickled(model).predict(TEXTS) == model.predict(TEXTS)
