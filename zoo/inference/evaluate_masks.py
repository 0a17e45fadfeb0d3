"""Scores of a saved masked language model on texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zoo.config.settings import Execution
from zoo.data.encoding import windows
from zoo.data.tokenizer import Vocabulary
from zoo.errors import ZooError
from zoo.models.mask_filler import MaskFiller
from zoo.tasks.base import Metric, TaskSetup
from zoo.tasks.mlm import MaskedLanguageModelling, masked_split
from zoo.training.device import resolve


def evaluate_masks(
    model: MaskFiller,
    task: MaskedLanguageModelling,
    texts: Sequence[str],
    metrics: Sequence[Metric] = (),
) -> dict[str, Any]:
    """The metrics on these texts, with the fixed masks that a training is scored by.

    With ``tokens`` and ``bytes``, of the masked pieces, and ``unknown``, how many texts have words
    that the model does not know. Raises ZooError where nothing is masked.
    """
    card = model.card
    options = task.options.model_validate(card.task_options)
    documents = windows(model.tokenizer, texts, model.max_length)
    if not len(documents):
        raise ZooError("these texts have no word")
    split = masked_split(options, documents, Vocabulary.of(model.tokenizer), model.device)
    setup = TaskSetup(task, options, card.sizes, card.training, card.vocab_size, card.labels)
    runtime = resolve(Execution(device=model.device.type, precision="fp32"))  # type: ignore[arg-type]
    found = task.evaluate(setup, model, split, runtime)
    text_of_token = np.repeat(documents.columns["texts"], documents.lengths)
    unknown = np.unique(text_of_token[documents.ids == model.unknown_id])
    return {
        **{m.description.name: m.compute(found.outputs) for m in metrics},
        "tokens": found.details["tokens"],
        "bytes": found.details["bytes"],
        "unknown": len(unknown),
    }
