"""Scores of a trained model for made-up texts, to verify it where it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from zoo.errors import DivergedError
from zoo.models.architectures import evaluating

# Of a model and texts as ids: scores (texts, n).
Scores = Callable[[nn.Module, Sequence[Sequence[int]]], Tensor]

LENGTHS = (16, 7)  # tokens; unequal, so that padding is covered as well
FIRST = 2  # [CLS], the first token of every text
# Relative to the largest score. Another machine's float32 differs by less than 1% of this.
TOLERANCE = 1e-3


def sample_outputs(
    model: nn.Module, scores: Scores, vocab_size: int, max_length: int
) -> dict[str, Any]:
    """The model's scores, in float32, for made-up texts: ``ids`` and ``scores``, plain lists.

    Raises DivergedError where a score is not finite.
    """
    draw = np.random.default_rng(0)
    lengths = [min(length, max_length) - 1 for length in LENGTHS]
    ids = [[FIRST, *draw.integers(FIRST, vocab_size, length).tolist()] for length in lengths]
    with evaluating(model):
        values = scores(model, ids).float().cpu()
    if not values.isfinite().all():
        raise DivergedError("the trained weights give scores that are not finite")
    return {"ids": ids, "scores": values.tolist()}


def same_outputs(model: nn.Module, scores: Scores, saved: dict[str, Any]) -> bool:
    """Whether the model, in evaluation mode, still gives what ``sample_outputs`` returned."""
    wanted = np.asarray(saved["scores"], dtype=np.float32)
    with evaluating(model):
        values = scores(model, saved["ids"]).float().cpu().numpy()
    limit = TOLERANCE * max(1.0, np.abs(wanted).max())
    return values.shape == wanted.shape and bool(np.abs(values - wanted).max() <= limit)
