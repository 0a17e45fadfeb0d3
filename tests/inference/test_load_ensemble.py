"""A saved deep ensemble predicts the mean of its members' probabilities."""

from __future__ import annotations

import pytest
import torch

import zoo
from zoo.data.batches import padded


def test_an_ensemble_is_saved_loaded_and_used_like_any_model(ensemble, rows, refused_command):
    text = "the goal of the match"
    (predicted,) = rows(ensemble, text)
    loaded = zoo.load(ensemble)
    ids, tokens = padded([loaded.tokenizer.encode(text).ids], loaded.device)
    with torch.inference_mode():
        members = [member(ids, tokens).softmax(dim=-1) for member in loaded.model.members]
    assert len(members) == 2
    mean = torch.stack(members).mean(dim=0)[0]
    expected = dict(zip(loaded.labels, mean.tolist(), strict=True))
    assert predicted["probabilities"] == pytest.approx(expected, abs=1e-5)
    assert "an ensemble has no attention map" in refused_command("attend", ensemble, text)
