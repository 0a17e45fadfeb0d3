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

from zoo.cli import main
from zoo.inference import attention_map as maps_module
from zoo.inference.attention_map import attention_map, render_page, write_picture
from zoo.models.text_model import TextClassifier
from zoo.registry import Registry
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


def test_the_weights_are_the_softmax_computed_by_loops(trained: Path, registry: Registry) -> None:
    bare = similar(trained, registry, pe="alibi", block="bare", norm="none", ffn="none")
    shown = attention_map(bare, TEXT)
    assert shown.tokens == bare.tokenizer.encode(TEXT).tokens
    np.testing.assert_allclose(shown.weights[0], softmax_by_loops(bare, TEXT), atol=1e-5)


@pytest.mark.parametrize("attention", ["naive", "split", "packed", "torch", "single"])
def test_every_exact_attention_has_the_same_weights_at_every_position(
    attention: str, trained: Path, registry: Registry
) -> None:
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


def maps(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert main(["attend", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_heads_are_averaged_and_json_has_each(trained: Path, model: TextClassifier, capsys) -> None:
    weights = attention_map(model, TEXT).weights
    found = maps(capsys, str(trained), TEXT)["maps"]
    assert [m["layer"] for m in found] == [1, 2]
    np.testing.assert_allclose(found[1]["weights"], (weights[1, 0] + weights[1, 1]) / 2, 1e-5)
    np.testing.assert_array_equal(np.float32(found[1]["heads"]), weights[1])


def test_without_a_file_the_numbers_are_printed(trained: Path, capsys) -> None:
    assert main(["attend", str(trained), "goal match"]) == 0
    printed = capsys.readouterr().out
    assert "layer 1, mean over heads" in printed
    assert "layer 2, mean over heads" in printed
    assert main(["attend", str(trained), "goal match " * 10]) == 0
    printed = capsys.readouterr()
    assert "attends most to" in printed.out
    assert main(["attend", str(trained), "goal match " * 30]) == 0
    assert "longer than the model's 24 tokens" in capsys.readouterr().err


def test_a_heat_map_is_written_as_png_and_svg(trained: Path, tmp_path: Path, capsys) -> None:
    text = "goal of the match"
    files = [str(tmp_path / name) for name in ("a.png", "a.svg", "b.svg")]
    outs = [word for file in files for word in ("--out", file)]
    assert main(["attend", str(trained), text, *outs]) == 0
    with Image.open(files[0]) as image:
        assert image.format == "PNG"
        assert len(image.convert("RGB").getcolors(2**20)) > 20
    svg, again = (Path(file).read_text() for file in files[1:])
    assert svg == again
    assert svg.count(">goal<") == 4  # rows and columns, of two layers
    assert "layer 2, mean over heads" in svg


def test_a_token_that_looks_like_a_formula_is_drawn_as_text(tmp_path: Path) -> None:
    shown = {1: np.full((2, 2), 0.5, dtype=np.float32)}
    write_picture(tmp_path / "map.svg", ["$\\frac$", "goal"], shown, "a title of $1 and $2")
    svg = (tmp_path / "map.svg").read_text()
    assert svg.count(">$\\frac$<") == 2
    assert "a title of $1 and $2" in svg


def test_a_longer_text_has_a_larger_picture(tmp_path: Path) -> None:
    widths = []
    for count in (8, 24):
        shown = {1: np.full((count, count), 1 / count, dtype=np.float32)}
        write_picture(tmp_path / "map.svg", [f"w{n}" for n in range(count)], shown, "a title")
        found = re.search(r'<svg [^>]*width="([\d.]+)pt"', (tmp_path / "map.svg").read_text())
        assert found is not None
        widths.append(float(found[1]))
    assert widths[0] < widths[1]


def test_labels_of_a_long_text_are_readable(tmp_path: Path, monkeypatch) -> None:
    """As many tokens are named as there is room for; none in smaller letters."""
    monkeypatch.setattr(maps_module, "MOST", 3.0)
    tokens = [f"word{number}" for number in range(40)]
    shown = {1: np.full((40, 40), 1 / 40, dtype=np.float32)}
    write_picture(tmp_path / "map.svg", tokens, shown, "a title")
    svg = (tmp_path / "map.svg").read_text()
    assert svg.count(">word0<") == svg.count(">word3<") == 2
    assert ">word1<" not in svg
    assert min(map(float, re.findall(r"font-size: ([\d.]+)px", svg))) >= SMALL


def test_the_predicted_class_stands_beside_the_map(
    trained: Path, model: TextClassifier, tmp_path: Path, capsys
) -> None:
    (answer,) = model.predict([TEXT])
    predicted = f"{answer.label} ({answer.probability:.1%})"
    assert maps(capsys, str(trained), TEXT)["predicted"] == predicted
    assert main(["attend", str(trained), TEXT]) == 0
    assert f"predicted: {predicted}\n" in capsys.readouterr().out
    page = render_page(attention_map(model, TEXT), "a cell")
    assert f"<bdi>{predicted}</bdi>" in page


def test_the_page_needs_no_other_file_and_no_network(
    trained: Path, model: TextClassifier, tmp_path: Path, capsys
) -> None:
    page = tmp_path / "map.html"
    assert main(["attend", str(trained), TEXT, "--out", str(page)]) == 0
    text = page.read_text()
    assert not re.search(r"https?://|src=|<link|@import|url\(|fetch|XMLHttp", text)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data, shown = json.loads(found[1]), attention_map(model, TEXT)
    assert data["tokens"] == shown.tokens
    np.testing.assert_allclose(data["heads"], shown.weights, atol=1e-4)
    np.testing.assert_allclose(data["mean"], shown.weights.mean(axis=1), atol=1e-4)


def test_markup_in_a_text_is_escaped_in_the_page(model: TextClassifier) -> None:
    text = 'goal </script><script>alert(1)</script> & "match"'
    page = render_page(attention_map(model, text), "<b>cell</b>")
    assert page.count("</script>") == 2
    assert "<script>alert" not in page
    assert "<b>" not in page


def test_an_attention_without_a_map_is_refused(mapless: tuple[Path, Path], capsys) -> None:
    directory, plugin = mapless
    assert main(["attend", str(directory), TEXT, "--plugin", str(plugin)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "zoo attend: error: the attention of mapless+sin+layer+gelu+pre+mean has no attention map"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([""], "the text is empty"),
        (["\u200b"], "text 1 is empty"),
        (["日本 ☃"], "every token of the text is unknown to the model"),
        ([TEXT, "--out", "map.gif"], "must end with .png, .svg or .html"),
        ([TEXT, "--out", "nowhere/map.html"], "cannot write to nowhere/map.html"),
    ],
    ids=lambda value: (
        " ".join(value[-2:]).encode("unicode_escape").decode() if isinstance(value, list) else ""
    ),
)
def test_bad_usage_is_one_line(
    arguments: list[str], message: str, trained: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["attend", str(trained), *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
