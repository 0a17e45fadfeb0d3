"""A small corpus, a pretrained BERT of a few kilobytes, and the command as users run it."""

from __future__ import annotations

import csv
import json
import random
import subprocess
from pathlib import Path

import pytest
from peer_helpers import PIECES

from zoo.cli import main

WORDS = {
    "sport": "goal match team coach league striker cup season".split(),
    "market": "shares profit bank stock trader bond price growth".split(),
}
COMMON = "the a of and to in said on it was for with as at by from".split()


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 training and 16 test documents of two classes that share most of their words."""
    directory = tmp_path_factory.mktemp("corpus")
    draw = random.Random(0)
    for split, size in (("train", 24), ("test", 8)):
        with (directory / f"{split}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            for label, own in WORDS.items():
                for _ in range(size):
                    words = [
                        draw.choice(own if draw.random() < 0.4 else COMMON)
                        for _ in range(draw.randint(4, 20))
                    ]
                    writer.writerow([" ".join(words), label])
    return directory


@pytest.fixture(scope="session")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with a head for masked words, as most on the Hub are, saved with its tokenizer."""
    import torch
    import transformers

    directory = tmp_path_factory.mktemp("pretrained") / "tiny-bert"
    config = transformers.BertConfig(
        vocab_size=len(PIECES),
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=20,
        max_position_embeddings=32,
    )
    torch.manual_seed(3)
    model = transformers.BertForMaskedLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape))
    model.save_pretrained(directory)
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    transformers.BertTokenizer(vocab=vocabulary).save_pretrained(directory)
    return directory


SIZES = (
    "--set dim=12,heads=2,ffn_dim=20,layers=2,vocab_size=120,batch_size=8 --max-length 16 "
    "--epochs 2 --threads 1 --device cpu"
).split()


@pytest.fixture
def zoo_bench(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """Run ``zoo bench`` on the corpus with tiny sizes, here; its records and what it printed."""

    def run(*arguments: str):
        out = tmp_path / "out"
        monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
        words = ["bench", "--data", str(corpus), "--out", str(out), "--on", "inline", *SIZES]
        words += ["--seeds", "1"]
        status = main([*words, *arguments])
        file = out / "records.jsonl"
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        done = subprocess.CompletedProcess(arguments, status, *capsys.readouterr())
        return [json.loads(line) for line in lines], done

    return run
