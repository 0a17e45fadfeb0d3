"""What a model's encoder begins with: new weights, a stage of pretraining, or a saved encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from zoo.config.sizes import Sizes

PRETRAIN = "pretrain"  # the value of ``init`` that is no directory
# Files among the encoded data of a run, where it has such.
GIVEN_TEXTS = "pretraining_texts.json"  # of --pretrain-data
SAVED_MODEL = "initial.safetensors"  # of --init DIR


class Pretraining(BaseModel):
    """Where encoders begin, and how the stage before their training is trained.

    The stage is masked language modelling; what is not here is as for the training.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    init: str = Field(
        default="",
        description="What encoders begin with: pretrain, for masked language modelling before each "
        "training, or the directory of a masked language model; by default new weights.",
    )
    pretrain_data: str = Field(
        default="",
        description="Texts to pretrain on: a file of plain text, a table with a column of texts, "
        "or a directory of text files; by default those of the training split. Texts that are "
        "scored are left out.",
    )
    pretrain_epochs: PositiveInt = Field(
        default=20, description="Passes over the texts to pretrain on."
    )
    pretrain_lr: PositiveFloat = Field(
        default=3e-3, description="Peak learning rate of the pretraining."
    )
    pretrain_masked: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.3, description="Share of the word pieces that the pretraining masks."
    )
    pretrain_whole_words: bool = Field(
        default=False, description="Mask words as a whole in the pretraining."
    )

    @property
    def from_model(self) -> bool:
        """Whether encoders begin with that of a saved model."""
        return self.init not in ("", PRETRAIN)


NO_PRETRAINING = Pretraining()


class InitialModel(BaseModel):
    """A saved model with whose encoder others begin.

    name: what records call it, without a path, and enough to know it again. cell: axis to the
    choice of every layer, for the axes that the encoder is made of.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    directory: Path
    weights: Path
    tokenizer: Path
    sizes: Sizes
    cell: dict[str, tuple[str, ...]]
