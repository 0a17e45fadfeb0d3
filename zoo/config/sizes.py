"""How large a model is. No torch here."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt


class Sizes(BaseModel):
    """The widths and counts that every cell of a run shares.

    hidden: inner width of the feed-forward networks. head_hidden: width of the classification
    head's own layer, 0 for none. max_length: tokens per text, [CLS] among them.
    members: how many models of these sizes answer together.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dim: PositiveInt = 64
    layers: PositiveInt = 2
    heads: PositiveInt = 4
    hidden: PositiveInt = 256
    head_hidden: NonNegativeInt = 0
    max_length: PositiveInt = 256
    vocab_size: PositiveInt = 4000
    members: PositiveInt = 1
