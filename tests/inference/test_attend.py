"""``zoo attend``: the weights are the softmax, as numbers, a picture or a page."""

import math

import numpy as np
import pytest
import torch
from PIL import Image
from saved_models import similar, weights_of

from zoo.inference.attention_map import attention_map
from zoo.models.text_model import TextClassifier

TEXT = "can you can that"


def softmax_by_loops(model: TextClassifier, text: str) -> np.ndarray:
    """softmax(Q Kᵀ / √Dh - slope |i - j|) of a bare single layer, head by head in float64."""
    (block,) = model.model.encoder.blocks[:1]
    attention = block.attention
    ids = torch.tensor(model.tokenizer.encode(text).ids)
    x = (model.model.encoder.embedding.weight[ids] * math.sqrt(16)).double()
    packed, dim = attention.project, 16
    weight = next(p for p in packed.parameters() if p.shape == (3 * dim, dim)).double()
    bias = next(p for p in packed.parameters() if p.shape == (3 * dim,)).double()
    q, k = (x @ weight[:dim].T + bias[:dim]), (x @ weight[dim : 2 * dim].T + bias[dim : 2 * dim])
    maps = []
    for head, slope in enumerate((2**-4, 2**-8)):
        mine = slice(8 * head, 8 * head + 8)
        length = len(ids)
        scores = torch.empty(length, length, dtype=torch.float64)
        for i in range(length):
            for j in range(length):
                scores[i, j] = (q[i, mine] @ k[j, mine]) / math.sqrt(8) - slope * abs(i - j)
        maps.append(scores.exp() / scores.exp().sum(dim=1, keepdim=True))
    return torch.stack(maps).detach().numpy()


def test_the_weights_are_the_softmax_computed_by_loops(trained, registry):
    bare = similar(trained, registry, pe="alibi", block="bare", norm="none", ffn="none")
    shown = attention_map(bare, TEXT)
    assert shown.tokens == bare.tokenizer.encode(TEXT).tokens
    np.testing.assert_allclose(weights_of(shown)[0], softmax_by_loops(bare, TEXT), atol=1e-5)


@pytest.mark.parametrize("attention", ["naive", "split", "packed", "torch", "single"])
def test_every_exact_attention_has_the_same_weights_at_every_position(attention, trained, registry):
    # Pooled at [CLS], the last layer needs no other row; a map has them all.
    cell = {"pe": "sin", "pool": "cls"}
    shown = attention_map(similar(trained, registry, attention=attention, **cell), TEXT)
    length = len(shown.tokens)
    heads = 1 if attention == "single" else 2
    assert weights_of(shown).shape == (2, heads, length, length)
    np.testing.assert_allclose(weights_of(shown).sum(axis=-1), 1, atol=1e-5)
    if heads == 2:
        fused = similar(trained, registry, attention="fused", **cell)
        np.testing.assert_allclose(
            weights_of(shown), weights_of(attention_map(fused, TEXT)), atol=1e-5, rtol=1e-4
        )


def test_json_has_each_head_and_its_prediction(trained, model, answer):
    shown, found = attention_map(model, TEXT), answer("attend", trained, TEXT)
    assert [m["layer"] for m in found["maps"]] == [1, 2]
    np.testing.assert_array_equal(
        np.float32([m["heads"] for m in found["maps"]]), weights_of(shown)
    )
    np.testing.assert_allclose(
        shown.means[2], (weights_of(shown)[1, 0] + weights_of(shown)[1, 1]) / 2
    )
    (answered,) = model.predict([TEXT])
    assert found["predicted"] == f"{answered.label} ({answered.probability:.1%})"


def test_without_a_file_the_numbers_are_printed(trained, said):
    printed = said("attend", trained, "goal match").out
    assert "predicted: " in printed
    assert printed.count("mean over heads\ntoken  attends most to (3 of 3)\n") == 2
    assert said("attend", trained, "goal match " * 30).err == (
        "note: texts longer than the model's 24 tokens; the rest was not read: 1\n"
    )


def test_a_heat_map_is_a_png_that_grows_with_the_text(trained, tmp_path, said):
    widths = []
    for text in ("goal $of$ the match", "goal match " * 8):
        file = tmp_path / f"{len(text)}.png"
        shown, notes = said("attend", trained, text, "--out", file)
        assert (shown, notes.splitlines()[0]) == ("", f"wrote {file}")
        with Image.open(file) as image:
            assert image.format == "PNG"
            assert len(image.convert("RGB").getcolors(2**20)) > 20
            widths.append(image.width)
    assert widths == sorted(set(widths))


def test_an_attention_without_a_map_is_refused(mapless, refused_command):
    directory, plugin = mapless
    says = "the attention of mapless+sin+layer+gelu+pre+mean has no attention map"
    line = refused_command("attend", directory, TEXT, "--plugin", plugin)
    assert line == f"zoo attend: error: {says}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([""], "the text is empty"),
        ([TEXT, "--out", "map.gif"], "must end with .png"),
    ],
    ids=lambda value: (
        " ".join(value[-2:]).encode("unicode_escape").decode() if isinstance(value, list) else ""
    ),
)
def test_bad_usage_is_one_line(arguments, message, trained, tmp_path, monkeypatch, refused_command):
    monkeypatch.chdir(tmp_path)
    assert message in refused_command("attend", trained, *arguments)
