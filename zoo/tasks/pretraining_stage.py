"""The stage before a training: masked language modelling of the model's own encoder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from zoo.config.pretraining import GIVEN_TEXTS
from zoo.config.settings import Training
from zoo.data.encoding import token_counts, windows
from zoo.data.masked_batches import MaskedSplit, Masking
from zoo.data.tokenizer import Vocabulary
from zoo.errors import ZooError
from zoo.models.encoder import Encoder
from zoo.models.masked_language_model import MaskedLanguageModel, masked_head
from zoo.models.seeding import seeded
from zoo.tasks.base import TaskSetup

PREFIX = "encoder."  # of the encoder's tensors among those of a masked language model


@dataclass(frozen=True)
class Stage:
    """What is trained: a model that has its encoder in common with the one to come."""

    model: MaskedLanguageModel
    split: MaskedSplit
    training: Training


def stage_texts(setup: TaskSetup, *, all_data: bool = False) -> list[str]:
    """The texts of the stage; ZooError where none is left that is not scored.

    all_data: nothing is scored.
    """
    file = setup.data.directory / GIVEN_TEXTS
    given = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    texts = setup.task.texts_to_pretrain(setup, given, all_data=all_data)
    if not texts:
        raise ZooError("--pretrain-data: every text in it is one that is scored")
    return texts


def stage_training(setup: TaskSetup) -> Training:
    """How the stage is trained: as the model, with epochs and learning rate of its own."""
    own = setup.pretraining
    changes = {"epochs": own.pretrain_epochs, "lr": own.pretrain_lr}
    return setup.training.model_copy(update={**changes, "label_smoothing": 0.0, "validation": 0.0})


def stage_model(model: nn.Module, seed: int) -> MaskedLanguageModel:
    """The model's encoder, an ensemble's first one, with a head that predicts tokens."""
    encoder = encoders(model)[0]
    with seeded(seed, "masked_head"):
        head = masked_head(encoder.embedding.embedding_dim)
    return MaskedLanguageModel(encoder, head)


def make_stage(
    setup: TaskSetup, model: MaskedLanguageModel, texts: list[str], device: torch.device
) -> Stage:
    """The stage of a model on the device, on these texts."""
    tokenizer, own = setup.data.tokenizer(), setup.pretraining
    documents = windows(tokenizer, texts, setup.sizes.max_length)
    if not len(documents):
        raise ZooError("--pretrain-data: there is no word in it")
    model.expect(token_counts(documents, model.bias.numel()))
    masking = Masking(own.pretrain_masked, own.pretrain_whole_words)
    split = MaskedSplit(documents, masking, Vocabulary.of(tokenizer), device)
    return Stage(model, split, stage_training(setup))


def encoders(model: nn.Module) -> list[Encoder]:
    """The encoders of a model: one, or that of each member of an ensemble."""
    found = [module for module in model.modules() if isinstance(module, Encoder)]
    if not found:
        raise ZooError(f"--init: a {type(model).__name__} has no encoder")
    return found


def load_encoders(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Give every encoder of the model these weights; all else stays as it is.

    tensors: of a masked language model, of which those of its encoder are taken. Raises ZooError
    where they do not fit.
    """
    own = {n.removeprefix(PREFIX): t for n, t in tensors.items() if n.startswith(PREFIX)}
    for encoder in encoders(model):
        try:
            encoder.load_state_dict(own)
        except RuntimeError as error:
            raise ZooError(f"--init: {' '.join(str(error).split())}") from error


def encoder_tensors(model: Any) -> dict[str, Tensor]:
    """The weights of a masked language model's encoder, as ``load_encoders`` takes them."""
    return {f"{PREFIX}{name}": t for name, t in model.encoder.state_dict().items()}
