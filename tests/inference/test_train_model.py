"""``zoo train``: the model that ``zoo bench`` scores, saved whole or not at all."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from saved_models import TINY, held_out

import zoo
from zoo.cli import main
from zoo.components.tokens import Tokens
from zoo.sweep.records import RecordFile

ROOT = str(Path(zoo.__file__).parents[1])


def test_it_is_the_model_that_bench_scores(trained, model, corpus, tmp_path, said):
    more = ["--seed", 1, "--baseline", "none", "--phases", "train", "--out", tmp_path]
    said("bench", *TINY, "--data", corpus, *more)
    (record,) = RecordFile(tmp_path).read()
    assert model.card.key == record.key
    assert model.card.metrics["accuracy"] == record.metrics["accuracy"]
    texts, labels = held_out(corpus)
    predicted = [p.label for p in model.predict(texts)]
    wrong = [
        [row, model.labels.index(label), model.labels.index(other)]
        for row, (label, other) in enumerate(zip(labels, predicted, strict=True))
        if label != other
    ]
    assert wrong == record.metrics["errors"]


def test_the_loaded_weights_are_the_trained_ones_bit_for_bit(trained, model):
    written = load_file(trained / "model.safetensors")
    loaded = model.model.state_dict()
    assert loaded.keys() == written.keys()
    assert all(torch.equal(loaded[name], written[name]) for name in written)
    again = zoo.load(trained)
    texts = ["the striker scored a goal", "a bank and a bond"]
    assert torch.equal(again.logits(texts), model.logits(texts))
    # The process that trained it saved these scores; this process gives them too.
    ids = torch.tensor(model.card.sample_outputs.ids[:1])
    with torch.inference_mode():
        here = model(ids, Tokens.whole(ids.shape[1]))
    torch.testing.assert_close(here[0], torch.tensor(model.card.sample_outputs.scores[0]))


def test_loading_needs_no_pickle(trained, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(f"pickle.{name}", refuse)
    monkeypatch.setattr(torch, "load", refuse)
    assert isinstance(zoo.load(trained), torch.nn.Module)


def test_a_directory_holds_weights_tokenizer_and_a_readable_description(trained):
    names = sorted(path.name for path in trained.iterdir())
    assert names == ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    config = json.loads((trained / "config.json").read_text())
    assert config["cell"] == "fused+rope+layer+gelu+pre+mean"
    assert config["labels"] == ["market", "music", "sport"]
    assert config["parts"]["pe"] == ["encoder-zoo:rope"]
    assert config["versions"] == {"encoder-zoo": zoo.__version__}
    assert config["data"]["fingerprint"]
    assert 0 <= config["metrics"]["accuracy"] <= 1
    for name in ("model.safetensors", "tokenizer.json"):
        assert config["files"][name] == hashlib.sha256((trained / name).read_bytes()).hexdigest()


def test_nothing_is_overwritten(copied, corpus, refused_command):
    before = {path.name: path.read_bytes() for path in copied.iterdir()}
    assert "exists already" in refused_command("train", *TINY, "--data", corpus, "--save", copied)
    assert {path.name: path.read_bytes() for path in copied.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--attention", "fused,naive"], "several choices of attention"),
        (["--pe", "all", "--norm", "layer,rms"], "several choices of pe and norm"),
        (["--attention", "torch", "--pe", "rope"], "torch cannot rotate"),
        (["--all-data", "--validation", "0.2"], "--validation has no effect where all the data"),
        (["--seeds", "3"], "no option '--seeds'"),
        (["--suite", "several.toml"], "several choices of attention"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_request_is_one_line_and_leaves_nothing(
    arguments, message, tmp_path, monkeypatch, refused_command
):
    (tmp_path / "several.toml").write_text('attention = ["fused", "naive"]\nseeds = 5\n')
    monkeypatch.chdir(tmp_path)
    assert message in refused_command("train", "--data", "newswire", "--save", "model", *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["several.toml"]


def test_training_that_fails_ends_in_one_line_and_saves_nothing(tmp_path, corpus, mapless, capsys):
    plugin = tmp_path / "mapless.py"
    plugin.write_text(mapless[1].read_text().replace("scale = 1.0", "scale = float('nan')"))
    arguments = ["--attention", "mapless", "--pe", "sin", "--plugin", str(plugin)]
    saved = ["--data", str(corpus), "--save", str(tmp_path / "model")]
    assert main(["train", *TINY, *arguments, *saved]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("zoo train: error: diverged: ")
    assert not (tmp_path / "model").exists()


def test_a_kill_while_writing_leaves_no_half_model(tmp_path, refused_command):
    program = (
        "import os, signal\nfrom pathlib import Path\nfrom zoo.inference.saved_model import draft\n"
        "with draft(Path('model')) as directory:\n"
        "    (directory / 'config.json').write_text('{')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    env = {"PYTHONPATH": ROOT}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, check=False)
    assert done.returncode == -9
    assert not (tmp_path / "model").exists()
    assert "no directory" in refused_command("predict", tmp_path / "model", "text")
