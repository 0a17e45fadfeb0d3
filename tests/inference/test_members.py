"""A kept committee answers as its members do together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from kept import TINY

import zoo
from zoo.cli import main
from zoo.data.batching.document_batches import padded


def test_a_committee_is_kept_loaded_and_asked_like_any_model(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "model"
    common = ["train", *TINY, "--data", str(corpus), "--members", "2", "--save", str(saved)]
    assert main(common) == 0
    capsys.readouterr()
    text = "the goal of the match"
    assert main(["predict", str(saved), text, "--format", "jsonl"]) == 0
    (said,) = map(json.loads, capsys.readouterr().out.splitlines())
    loaded = zoo.load(saved)
    ids, tokens = padded([loaded.tokenizer.encode(text).ids], loaded.device)
    with torch.inference_mode():
        shares = [m(ids, tokens).softmax(dim=-1) for m in loaded.classifier.eval().members]
    mean = torch.stack(shares).mean(dim=0)[0]
    expected = dict(zip(loaded.labels, mean.tolist(), strict=True))
    assert said["probabilities"] == pytest.approx(expected, abs=1e-5)
    assert main(["attend", str(saved), text]) == 2
    assert "2 members have no one attention map" in capsys.readouterr().err
