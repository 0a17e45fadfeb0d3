"""A few answers of a trained model, by which it is known again wherever it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from zoo.train.trainer import DivergedError

# Of a model and texts as ids: a row of scores for each.
Answer = Callable[[nn.Module, Sequence[Sequence[int]]], Tensor]

LENGTHS = (16, 7)  # tokens; unequal, so that padding is answered for as well
FIRST = 2  # [CLS], in front as in every text
# Of the greatest score. Another machine's float32 differs by less than a hundredth of this.
TOLERANCE = 1e-3


def sample_outputs(
    model: nn.Module, answer: Answer, vocab_size: int, max_length: int
) -> dict[str, Any]:
    """The model's scores, in float32, for made-up texts: ``ids`` and ``logits``, plain lists.

    Raises DivergedError where a score is no finite number.
    """
    draw = np.random.default_rng(0)
    ids = [
        [FIRST, *draw.integers(FIRST, vocab_size, min(length, max_length) - 1).tolist()]
        for length in LENGTHS
    ]
    logits = answers(model, answer, ids)
    if not np.isfinite(logits).all():
        raise DivergedError("the trained weights give scores that are no numbers")
    return {"ids": ids, "logits": logits.tolist()}


def agrees(
    model: nn.Module, answer: Answer, ids: Sequence[Sequence[int]], logits: Sequence[Any]
) -> bool:
    """Whether the model still gives these scores."""
    wanted, given = np.asarray(logits, dtype=np.float32), answers(model, answer, ids)
    if given.shape != wanted.shape:
        return False
    return bool(np.abs(given - wanted).max() <= TOLERANCE * max(1.0, np.abs(wanted).max()))


@torch.inference_mode()
def answers(model: nn.Module, answer: Answer, ids: Sequence[Sequence[int]]) -> np.ndarray:
    """Scores (texts, n) in evaluation; the model is left in the mode it was in."""
    was_training = model.training
    model.eval()
    try:
        scores: np.ndarray = answer(model, ids).float().cpu().numpy()
        return scores
    finally:
        model.train(was_training)
