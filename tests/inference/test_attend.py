"""``zoo attend``: the weights are the softmax, as numbers, a picture or a page."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from saved_models import similar

from zoo.inference import attention_map as maps_module
from zoo.inference.attention_map import attention_map, render_page, write_picture
from zoo.models.text_model import TextClassifier
from zoo.report.plots.plot import SMALL

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
    np.testing.assert_allclose(shown.weights[0], softmax_by_loops(bare, TEXT), atol=1e-5)


@pytest.mark.parametrize("attention", ["naive", "split", "packed", "torch", "single"])
def test_every_exact_attention_has_the_same_weights_at_every_position(attention, trained, registry):
    # Pooled at [CLS], the last layer needs no other row; a map has them all.
    cell = {"pe": "sin", "pool": "cls"}
    shown = attention_map(similar(trained, registry, attention=attention, **cell), TEXT)
    length = len(shown.tokens)
    heads = 1 if attention == "single" else 2
    assert shown.weights.shape == (2, heads, length, length)
    np.testing.assert_allclose(shown.weights.sum(axis=-1), 1, atol=1e-5)
    if heads == 2:
        fused = similar(trained, registry, attention="fused", **cell)
        np.testing.assert_allclose(
            shown.weights, attention_map(fused, TEXT).weights, atol=1e-5, rtol=1e-4
        )


def test_heads_are_averaged_and_json_has_each(trained, model, answer):
    weights = attention_map(model, TEXT).weights
    found = answer("attend", trained, TEXT)["maps"]
    assert [m["layer"] for m in found] == [1, 2]
    np.testing.assert_allclose(found[1]["weights"], (weights[1, 0] + weights[1, 1]) / 2, 1e-5)
    np.testing.assert_array_equal(np.float32(found[1]["heads"]), weights[1])


def test_without_a_file_the_numbers_are_printed(trained, said):
    printed = said("attend", trained, "goal match").out
    assert "layer 1, mean over heads" in printed
    assert "layer 2, mean over heads" in printed
    assert "attends most to" in said("attend", trained, "goal match " * 10).out
    assert said("attend", trained, "goal match " * 30).err == (
        "note: the text is longer than the model's 24 tokens; the rest was not read\n"
    )


def test_a_heat_map_is_written_as_png_and_svg(trained, tmp_path, said):
    files = [tmp_path / name for name in ("a.png", "a.svg", "b.svg")]
    outs = [word for file in files for word in ("--out", file)]
    shown, notes = said("attend", trained, "goal of the match", *outs)
    assert (shown, notes.splitlines()) == ("", [f"wrote {file}" for file in files])
    with Image.open(files[0]) as image:
        assert image.format == "PNG"
        assert len(image.convert("RGB").getcolors(2**20)) > 20
    svg, again = (file.read_text() for file in files[1:])
    assert svg == again
    assert svg.count(">goal<") == 4  # rows and columns, of two layers
    assert "layer 2, mean over heads" in svg


def drawn(folder: Path, tokens: list[str], title: str = "a title") -> str:
    """The SVG of a layer in which every token attends to all of them alike."""
    weights = np.full((len(tokens), len(tokens)), 1 / len(tokens), dtype=np.float32)
    write_picture(folder / "map.svg", tokens, {1: weights}, title)
    return (folder / "map.svg").read_text()


def test_a_token_that_looks_like_a_formula_is_drawn_as_text(tmp_path):
    svg = drawn(tmp_path, ["$\\frac$", "goal"], "a title of $1 and $2")
    assert svg.count(">$\\frac$<") == 2
    assert "a title of $1 and $2" in svg


def test_a_longer_text_has_a_larger_picture(tmp_path):
    pictures = (drawn(tmp_path, [f"w{n}" for n in range(count)]) for count in (8, 24))
    short, long = (re.search(r'<svg [^>]*width="([\d.]+)pt"', svg) for svg in pictures)
    assert float(short[1]) < float(long[1])


def test_labels_of_a_long_text_are_readable(tmp_path, monkeypatch):
    """As many tokens are named as there is room for; none in smaller letters."""
    monkeypatch.setattr(maps_module, "MOST", 3.0)
    svg = drawn(tmp_path, [f"word{number}" for number in range(40)])
    assert svg.count(">word0<") == svg.count(">word3<") == 2
    assert ">word1<" not in svg
    assert min(map(float, re.findall(r"font-size: ([\d.]+)px", svg))) >= SMALL


def test_the_predicted_class_stands_beside_the_map(trained, model, said, answer):
    (found,) = model.predict([TEXT])
    predicted = f"{found.label} ({found.probability:.1%})"
    assert answer("attend", trained, TEXT)["predicted"] == predicted
    assert f"predicted: {predicted}\n" in said("attend", trained, TEXT).out
    page = render_page(attention_map(model, TEXT), "a cell")
    assert f"<bdi>{predicted}</bdi>" in page


def test_the_page_needs_no_other_file_and_no_network(trained, model, tmp_path, said):
    said("attend", trained, TEXT, "--out", tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text()
    assert not re.search(r"https?://|src=|<link|@import|url\(|fetch|XMLHttp", text)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    data, shown = json.loads(found[1]), attention_map(model, TEXT)
    assert data["tokens"] == shown.tokens
    np.testing.assert_allclose(data["heads"], shown.weights, atol=1e-4)
    np.testing.assert_allclose(data["mean"], shown.weights.mean(axis=1), atol=1e-4)


def test_markup_in_a_text_is_escaped_in_the_page(model):
    text = 'goal </script><script>alert(1)</script> & "match"'
    page = render_page(attention_map(model, text), "<b>cell</b>")
    assert page.count("</script>") == 2
    assert "<script>alert" not in page
    assert "<b>" not in page


def test_an_attention_without_a_map_is_refused(mapless, refused_command):
    directory, plugin = mapless
    says = "the attention of mapless+sin+layer+gelu+pre+mean has no attention map"
    line = refused_command("attend", directory, TEXT, "--plugin", plugin)
    assert line == f"zoo attend: error: {says}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([""], "the text is empty"),
        (["\u200b"], "text 1 is empty"),
        (["日本 ☃"], "every token of the text is unknown to the model"),
        ([TEXT, "--out", "map.gif"], "must end with .png, .svg or .html"),
    ],
    ids=lambda value: (
        " ".join(value[-2:]).encode("unicode_escape").decode() if isinstance(value, list) else ""
    ),
)
def test_bad_usage_is_one_line(arguments, message, trained, tmp_path, monkeypatch, refused_command):
    monkeypatch.chdir(tmp_path)
    assert message in refused_command("attend", trained, *arguments)
