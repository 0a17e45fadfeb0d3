"""``zoo export``: a file with the model's own logits in the real runtimes, or a named refusal."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from export_models import TINY, test_documents
from zoo_export.command import FORMATS as OFFERED
from zoo_export.program import FORMATS

import zoo
from zoo.cli import main
from zoo.components.tokens import Tokens
from zoo.data.batches import padded
from zoo.inference.saved_model import load
from zoo.models.text_model import TextClassifier, TextModel, TextTagger

PAGE = (Path(__file__).parents[3] / "docs" / "transformers.md").read_text("utf-8")
PAGE = PAGE.partition("## ONNX and torch.export")[2]
CODE = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PACKAGE = str(Path(zoo.__file__).parent).encode()  # a path of this machine
CPU = torch.device("cpu")
Run = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def onnx_logits(directory: Path) -> Run:
    import onnxruntime

    session = onnxruntime.InferenceSession(directory / "model.onnx")

    def run(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        given = {"input_ids": ids.numpy(), "attention_mask": mask.numpy()}
        return torch.from_numpy(session.run(["logits"], given)[0])

    return run


def torch_logits(directory: Path) -> Run:
    module: Run = torch.export.load(directory / "model.pt2").module()
    return module


def assert_equal_logits(model: TextModel, run: Run, max_length: int) -> None:
    """For batches of several sizes and lengths, padded at the end of texts."""
    draw = torch.Generator().manual_seed(0)
    for batch, length in [(1, 1), (1, max_length), (2, 3), (3, max_length), (7, 11), (16, 2)]:
        ids = torch.randint(2, model.card.vocab_size, (batch, length), generator=draw)
        lengths = torch.randint(1, length + 1, (batch, 1), generator=draw)
        for real in (torch.arange(length) < lengths, torch.ones(batch, length, dtype=torch.bool)):
            with torch.no_grad():
                wanted = model(ids, Tokens(real, torch.arange(length)))
                found = run(ids, real.long())
            if wanted.dim() == 3:
                wanted, found = wanted[real], found[real]
            torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)


@pytest.fixture(scope="module")
def onnx(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "model-onnx"
    assert main(["export", str(trained), "--to", "onnx", "--out", str(out)]) == 0
    return out


def test_the_pages_code_gives_what_predict_gives(
    onnx: Path, model: TextClassifier, corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    texts = [*test_documents(corpus)[0], "goal", "a word nobody knows", "bond " * 100]
    monkeypatch.chdir(onnx.parent)
    page: dict[str, Any] = {}
    exec(re.sub(r"^texts = .*$", f"texts = {texts!r}", CODE[0], flags=re.MULTILINE), page)
    predicted = model.predict(texts)
    assert capsys.readouterr().out == f"{[p.label for p in predicted]}\n"
    wanted = torch.tensor([list(p.probabilities.values()) for p in predicted])
    shares = torch.from_numpy(page["logits"]).softmax(dim=-1)
    torch.testing.assert_close(shares, wanted, atol=1e-5, rtol=0)
    assert page["about"]["labels"] == model.labels


def test_onnx_has_equal_logits_for_any_batch_and_length(onnx: Path, model: TextClassifier) -> None:
    assert_equal_logits(model, onnx_logits(onnx), model.max_length)


def test_padding_may_stand_on_any_side_of_a_text(onnx: Path, model: TextClassifier) -> None:
    ids = torch.tensor([[2, 9, 5, 31]])
    places = torch.tensor([[0, 1, 2, 3], [3, 4, 5, 6], [1, 2, 3, 4]])
    padded = torch.zeros(3, 7, dtype=torch.long).scatter(1, places, ids.expand(3, -1))
    with torch.no_grad():
        alone = model(ids, Tokens.whole(4))
    found = onnx_logits(onnx)(padded, (padded > 0).long())
    torch.testing.assert_close(found, alone.expand(3, -1), atol=1e-4, rtol=0)


def test_the_file_is_quantized_by_us_and_by_onnxruntime(
    trained: Path, onnx: Path, model: TextClassifier, corpus: Path, tmp_path: Path, capsys: Any
) -> None:
    """It is smaller, and predicts the test documents alike but for what is nearly a tie."""
    from onnxruntime.quantization import quantize_dynamic

    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    assert main(["export", str(trained), "--to", "onnx", "--int8", "--out", str(ours)]) == 0
    assert re.search(r"and the likeliest class by \d+ of 75\.$", capsys.readouterr().out.strip())
    theirs.mkdir()
    quantize_dynamic(onnx / "model.onnx", theirs / "model.onnx")
    ids, tokens = padded([e.ids[:24] for e in model.encode(test_documents(corpus)[0])], CPU)
    mask = tokens.attention_mask.long()
    wanted = model(ids, tokens).argmax(dim=-1)
    for directory in (ours, theirs):
        predicted = onnx_logits(directory)(ids, mask).argmax(dim=-1)
        assert (predicted == wanted).sum() >= 27  # of 30; some are nearly ties
        size, whole = ((d / "model.onnx").stat().st_size for d in (directory, onnx))
        assert size < whole
    assert main(["export", str(trained), "--to", "torch", "--int8"]) == 2
    assert "--int8 is for --to onnx" in capsys.readouterr().err


def test_what_transformers_saved_is_exported(
    trained: Path, model: TextClassifier, tmp_path: Path
) -> None:
    zoo_hf, transformers = pytest.importorskip("zoo_hf"), pytest.importorskip("transformers")
    tuned = zoo_hf.ZooForSequenceClassification.from_pretrained(trained)
    torch.nn.init.normal_(tuned.model.head[1].weight)  # as if it had been trained on
    tuned.save_pretrained(tmp_path / "tuned")
    transformers.AutoTokenizer.from_pretrained(trained).save_pretrained(tmp_path / "tuned")
    assert main(["export", str(tmp_path / "tuned"), "--to", "torch"]) == 0
    ids = torch.tensor([[2, 9, 5, 31]])
    with torch.no_grad():
        wanted = tuned.eval()(ids).logits
    found = torch_logits(tmp_path / "tuned-torch")(ids, torch.ones_like(ids))
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)
    about = json.loads((tmp_path / "tuned-torch" / "export.json").read_text())
    assert (about["labels"], about["key"]) == (model.labels, "")


def test_an_estimator_of_scikit_learn_is_saved_and_exported(corpus: Path, tmp_path: Path) -> None:
    texts, labels = test_documents(corpus)
    sizes = {"dim": 16, "heads": 2, "ffn_dim": 32, "layers": 1, "max_length": 24}
    estimator = zoo.sklearn.ZooClassifier(**sizes, vocab_size=160, random_state=0, device="cpu")
    estimator.fit(texts, labels)
    estimator.save(tmp_path / "model")
    loaded = zoo.load(tmp_path / "model")
    assert loaded.labels == ["market", "music", "sport"]
    assert [p.label for p in loaded.predict(texts)] == estimator.predict(texts).tolist()
    shares = loaded.logits(texts).softmax(dim=-1).numpy()
    assert shares == pytest.approx(estimator.predict_proba(texts), abs=1e-6)
    assert main(["export", str(tmp_path / "model"), "--to", "torch"]) == 0
    with pytest.raises(zoo.ZooError, match="exists already"):
        estimator.save(tmp_path / "model")


def test_the_description_is_the_files_own(onnx: Path, model: TextClassifier) -> None:
    import onnxruntime

    about = json.loads((onnx / "export.json").read_text())
    session = onnxruntime.InferenceSession(onnx / about["file"])
    types = {"int64": "tensor(int64)", "float32": "tensor(float)"}
    for described, found in (
        (about["inputs"], session.get_inputs()),
        (about["outputs"], session.get_outputs()),
    ):
        assert [(one["name"], one["shape"], types[one["type"]]) for one in described] == [
            (one.name, one.shape, one.type) for one in found
        ]
    assert about["max_length"] == 24
    assert about["cell"] == model.card.cell
    assert about["compared"]["runtime"] == f"onnxruntime {onnxruntime.__version__}"
    assert about["compared"]["difference"] <= 1e-4
    assert sorted(path.name for path in onnx.iterdir()) == [
        "export.json",
        "model.onnx",
        "tokenizer.json",
    ]
    assert PACKAGE not in (onnx / "model.onnx").read_bytes()


def test_torch_has_equal_logits_and_a_directory_of_its_own(
    trained: Path,
    model: TextClassifier,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained, "model")
    assert main(["export", "model", "--to", "torch"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Exported: model-torch\nCompared in torch ")
    assert "1 to 24 tokens" in said
    assert_equal_logits(model, torch_logits(Path("model-torch")), model.max_length)
    with zipfile.ZipFile("model-torch/model.pt2") as archive:
        assert not any(PACKAGE in archive.read(name) for name in archive.namelist())
    assert main(["export", "model", "--to", "torch"]) == 2
    assert "model-torch exists already" in capsys.readouterr().err


@pytest.mark.slow
def test_a_tagger_gives_the_tag_of_every_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    people, places = ("Ann", "Bob", "Carla", "Dan"), ("Rome", "Paris", "Oslo", "Lima")
    Path("data").mkdir()
    for split, verb in (("train", "lives"), ("test", "stays")):
        texts = [f"{a} B-PER\n{verb} O\nin O\n{b} B-LOC\n" for a in people for b in places]
        Path(f"data/{split}.conll").write_text("\n".join(texts))
    assert main(["train", "--task", "tag", *TINY, "--data", "data", "--save", "model"]) == 0
    assert main(["export", "model", "--to", "onnx"]) == 0
    capsys.readouterr()
    tagger = load("model")
    assert isinstance(tagger, TextTagger)
    page: dict[str, Any] = {}
    exec(CODE[0].rpartition("\n(logits")[0], page)
    exec(CODE[1], page)
    (wanted,) = tagger.predict(["Ann lives in Rome".split()])
    assert capsys.readouterr().out == f"{wanted.tags}\n"
    assert_equal_logits(tagger, onnx_logits(Path("model-onnx")), tagger.max_length)


PLUGIN = '''
"""Attentions that run, and cannot be exported: each for a reason of its own."""

import torch

from zoo import hookimpl
from zoo.components.attention.fused import Fused


class Asks(Fused):
    def attend(self, q, k, v, mask, bias, **kernel):
        return super().attend(q, k, v, mask, bias, **kernel) * (2 if q.sum().item() > 0 else 1)


class Counts(Fused):
    """What it multiplies by is a constant of the exported program, though it changes."""

    calls = 0

    def attend(self, q, k, v, mask, bias, **kernel):
        type(self).calls += 1
        return super().attend(q, k, v, mask, bias, **kernel) * (1 + type(self).calls % 7)


@hookimpl
def zoo_register(register):
    for made in (Asks, Counts):
        register("attention", made.__name__.lower(), made, summary="for tests",
                 capabilities=("rotate", "bias", "padding"))
'''


@pytest.fixture(scope="module")
def asks(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A model with an attention that cannot be exported, and the options that load it."""
    home = tmp_path_factory.mktemp("asks")
    (home / "asking.py").write_text(PLUGIN)
    plugin = ["--plugin", str(home / "asking.py")]
    options = [*TINY, *plugin, "--attention", "naive/asks", "--pe", "none"]
    options += ["--norm", "rms", "--data", str(corpus)]
    assert main(["train", *options, "--epochs", "1", "--save", str(home / "model")]) == 0
    return home / "model", plugin


def test_a_component_that_cannot_be_exported_is_named(
    asks: tuple[Path, list[str]], tmp_path: Path, capsys: Any
) -> None:
    directory, plugin = asks
    out = tmp_path / "out"
    capsys.readouterr()
    assert main(["export", str(directory), *plugin, "--to", "torch", "--out", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.match(
        r"zoo export: error: .*model cannot be exported to torch: "
        r"attention 'asks' of asking\.py [0-9a-f]{12}: \S",
        line,
    ), line
    assert "rms" not in line
    assert "naive" not in line
    assert not out.exists()


def test_a_file_that_gives_other_logits_is_not_kept(
    asks: tuple[Path, list[str]], tmp_path: Path
) -> None:
    from zoo_export.program import write_program

    from zoo.models.build import build_classifier
    from zoo.registry.cell import Cell
    from zoo.registry.loading import load as load_zoo

    directory, plugin = asks
    card = load(directory, plugins=plugin[1:]).card
    names = {"attention": "counts", "pe": "sin", "norm": "none", "ffn": "none", "block": "bare"}
    cell = Cell.parse(load_zoo(plugin[1:]).registry, {**names, "pool": "mean"})
    model = build_classifier(cell, card.sizes, vocab_size=100, classes=3, seed=0).eval()
    with pytest.raises(
        ValueError, match=r"its logits differ by \S+ from the model's, for texts of"
    ):
        write_program(model, 100, 24, FORMATS["torch"], tmp_path / "model.pt2")


def test_models_that_generate_are_refused(
    language_model: Path, encoder_decoder: Path, tmp_path: Path, capsys: Any
) -> None:
    for directory, what in (
        (language_model, "a language model"),
        (encoder_decoder, "an encoder-decoder"),
    ):
        out = str(tmp_path / "out")
        assert main(["export", str(directory), "--to", "onnx", "--out", out]) == 2
        error = capsys.readouterr().err
        assert f"holds {what}, which zoo export does not take; it is for zoo generate" in error


def test_the_command_offers_every_format() -> None:
    assert set(OFFERED) == set(FORMATS)
