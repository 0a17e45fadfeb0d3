"""How large a model is. No torch here."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, PositiveInt


class Options(BaseModel):
    """Options that do not change; an unknown one is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Sizes(Options):
    """The widths and counts that every cell of a run shares."""

    dim: PositiveInt = Field(default=64, description="Width of the model.")
    layers: PositiveInt = Field(default=2, le=1000, description="Number of blocks.")
    heads: PositiveInt = Field(default=4, description="Attention heads.")
    ffn_dim: PositiveInt = Field(
        default=256, description="Inner width of the feed-forward networks."
    )
    max_length: PositiveInt = Field(
        default=256,
        le=2**20,  # more would take days a step, and tables of positions of gigabytes
        description="Most tokens of a text; special tokens count, and the rest is cut off. With "
        "--phases cost a comma list measures costs at each of several lengths.",
    )
    vocab_size: PositiveInt = Field(default=4000, description="Vocabulary entries.")
