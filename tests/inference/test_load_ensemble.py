"""A saved deep ensemble predicts the mean of its members' probabilities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import zoo
from zoo.cli import main
from zoo.data.batches import padded


def test_an_ensemble_is_saved_loaded_and_used_like_any_model(
    ensemble: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "the goal of the match"
    assert main(["predict", str(ensemble), text, "--format", "jsonl"]) == 0
    (predicted,) = map(json.loads, capsys.readouterr().out.splitlines())
    loaded = zoo.load(ensemble)
    ids, tokens = padded([loaded.tokenizer.encode(text).ids], loaded.device)
    with torch.inference_mode():
        members = [member(ids, tokens).softmax(dim=-1) for member in loaded.model.members]
    assert len(members) == 2
    mean = torch.stack(members).mean(dim=0)[0]
    expected = dict(zip(loaded.labels, mean.tolist(), strict=True))
    assert predicted["probabilities"] == pytest.approx(expected, abs=1e-5)
    assert main(["attend", str(ensemble), text]) == 2
    assert "an ensemble has no attention map" in capsys.readouterr().err
