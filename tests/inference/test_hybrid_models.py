"""A trained model whose layers differ: saved, loaded and used as any other."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from saved_models import TINY, similar, train

import zoo
from zoo.inference.attention_map import attention_map
from zoo.models.text_model import TextClassifier

TEXT = "can you can that"
CELL = ["--attention", "fused/mapless", "--pe", "rope(base=50)/none", "--block", "pre/post"]


@pytest.fixture(scope="module")
def hybrid(corpus, mapless, tmp_path_factory) -> tuple[Path, Path]:
    """A trained model of which layer 2 has an attention of a plug-in file; and that file."""
    _, plugin = mapless
    directory = tmp_path_factory.mktemp("hybrid") / "model"
    return train(directory, *TINY, *CELL, "--plugin", plugin, "--data", corpus), plugin


@pytest.fixture(scope="module")
def model(hybrid) -> TextClassifier:
    directory, plugin = hybrid
    return zoo.load(directory, plugins=[plugin])


def test_the_loaded_hybrid_has_its_layers_and_its_weights(hybrid, model):
    blocks = model.model.encoder.blocks
    assert [type(block.attention).__name__ for block in blocks] == ["Fused", "Mapless"]
    assert [type(block).__name__ for block in blocks] == ["Pre", "Post"]
    assert model.model.encoder.final_norm is None
    written = load_file(hybrid[0] / "model.safetensors")
    assert all(torch.equal(tensor, written[n]) for n, tensor in model.model.state_dict().items())
    assert model.card.cell.startswith("fused/mapless+rope(base=50.0)/none+")


def test_layers_without_a_map_are_left_out_and_named(hybrid, model, said):
    directory, plugin = hybrid
    command = ["attend", directory, TEXT, "--plugin", plugin]
    printed = said(*command, "--json")
    assert [shown["layer"] for shown in json.loads(printed.out)["maps"]] == [1]
    assert "note: the attention of layer 2 gives no map\n" in printed.err
    found = attention_map(model, TEXT)
    assert list(found.by_layer) == [1]
    np.testing.assert_allclose(found.by_layer[1].sum(axis=-1), 1, atol=1e-5)


def test_layers_may_have_different_numbers_of_heads(trained, registry):
    mixed = similar(trained, registry, attention="single/fused")
    found = attention_map(mixed, TEXT)
    assert [weights.shape[0] for weights in found.by_layer.values()] == [1, 2]
    # A layer's weights are those of the same layer in a model without a pattern.
    alone = attention_map(similar(trained, registry, attention="single"), TEXT)
    np.testing.assert_allclose(found.by_layer[1], alone.by_layer[1], atol=1e-6)
