"""A trained model whose layers differ: saved, loaded and used as any other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from saved_models import PLUGIN, TINY, similar, test_documents

import zoo
from zoo.cli import main
from zoo.inference.attention_map import attention_map, render_page
from zoo.models.text_model import TextClassifier
from zoo.registry import Registry
from zoo.sweep.records import RecordFile

TEXT = "can you can that"
CELL = ["--attention", "fused/mapless", "--pe", "rope(base=50)/none", "--block", "pre/post"]


@pytest.fixture(scope="module")
def hybrid(
    corpus: Path, tmp_path_factory: pytest.TempPathFactory, _environment: None
) -> tuple[Path, Path]:
    """A trained model of which layer 2 has an attention of a plug-in file; and that file."""
    home = tmp_path_factory.mktemp("hybrid")
    plugin = home / "mapless.py"
    plugin.write_text(PLUGIN.format(scale=1.0))
    arguments = [*TINY, *CELL, "--plugin", str(plugin), "--data", str(corpus)]
    assert main(["train", *arguments, "--save", str(home / "model")]) == 0
    return home / "model", plugin


def open_hybrid(hybrid: tuple[Path, Path]) -> TextClassifier:
    model = zoo.load(hybrid[0], plugins=[hybrid[1]])
    assert isinstance(model, TextClassifier)
    return model


def test_the_loaded_hybrid_is_the_model_that_bench_scores(
    hybrid: tuple[Path, Path], corpus: Path, tmp_path: Path
) -> None:
    model = open_hybrid(hybrid)
    blocks = model.model.encoder.blocks
    assert [type(block.attention).__name__ for block in blocks] == ["Fused", "Mapless"]
    assert [type(block).__name__ for block in blocks] == ["Pre", "Post"]
    assert model.model.encoder.final_norm is None
    written = load_file(hybrid[0] / "model.safetensors")
    assert all(torch.equal(tensor, written[n]) for n, tensor in model.model.state_dict().items())

    out = tmp_path / "out"
    arguments = ["bench", *TINY, *CELL, "--plugin", str(hybrid[1]), "--data", str(corpus)]
    more = ["--seed", "0", "--baseline", "none", "--phases", "train", "--out", str(out)]
    assert main([*arguments, *more]) == 0
    (record,) = RecordFile(out).read()
    assert record.cell["attention"] == "fused/mapless"
    assert record.plugins.keys() == {"mapless.py"}
    assert model.card.cell == record.name
    assert model.card.key == record.key
    texts, labels = test_documents(corpus)
    right = [p.label == label for p, label in zip(model.predict(texts), labels, strict=True)]
    assert sum(right) / len(right) == pytest.approx(record.metrics["accuracy"])


def test_the_description_names_every_component(hybrid: tuple[Path, Path]) -> None:
    directory = hybrid[0]
    parts = json.loads((directory / "config.json").read_text())["parts"]
    assert [part["choice"] for part in parts["attention"]] == [
        *("encoder-zoo:fused", "mapless.py:mapless")
    ]
    assert [part["choice"] for part in parts["pe"]] == [
        *("encoder-zoo:rope(base=50.0)", "encoder-zoo:none")
    ]
    assert parts["norm"]["choice"] == "encoder-zoo:layer"
    with pytest.raises(zoo.ZooError, match=r"plug-in file mapless\.py: name it with --plugin"):
        zoo.load(directory)


def test_layers_without_a_map_are_left_out_and_named(
    hybrid: tuple[Path, Path], tmp_path: Path, capsys
) -> None:
    directory, plugin = hybrid
    command = ["attend", str(directory), TEXT, "--plugin", str(plugin)]
    assert main([*command, "--json"]) == 0
    printed = capsys.readouterr()
    assert [shown["layer"] for shown in json.loads(printed.out)["maps"]] == [1]
    assert "note: the attention of layer 2 gives no map\n" in printed.err
    found = attention_map(open_hybrid(hybrid), TEXT)
    assert (list(found.by_layer), found.missing) == ([1], (2,))
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-5)
    page = tmp_path / "map.html"
    assert main([*command, "--out", str(page)]) == 0
    assert "The attention of layer 2 gives no map." in page.read_text()


def test_layers_may_have_different_numbers_of_heads(trained: Path, registry: Registry) -> None:
    mixed = similar(trained, registry, attention="single/fused")
    found = attention_map(mixed, TEXT)
    assert [weights.shape[0] for weights in found.by_layer.values()] == [1, 2]
    with pytest.raises(zoo.ZooError, match="differ in their numbers of heads"):
        _ = found.weights
    page = render_page(found, "cell")
    held = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert held is not None
    data = json.loads(held[1])
    assert data["layers"] == [1, 2]
    assert [len(heads) for heads in data["heads"]] == [1, 2]
    # A layer's weights are those of the same layer in a model without a pattern.
    alone = attention_map(similar(trained, registry, attention="single"), TEXT)
    np.testing.assert_allclose(found.by_layer[1], alone.by_layer[1], atol=1e-6)
