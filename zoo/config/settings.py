"""How models are trained, and where the arithmetic runs. No torch here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt

# Settings that can be given several values, of which one is chosen for each row.
TUNABLE = ("lr", "weight_decay", "dropout")
OF_SEVERAL = "Of several, one is chosen for each row on held-out training texts."

Fraction = Annotated[float, Field(ge=0, lt=1)]


class Training(BaseModel):
    """How each model trains: AdamW, warm-up and decay, gradient clipping."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    epochs: PositiveInt = Field(default=6, description="Passes over the training split.")
    batch_size: PositiveInt = Field(default=32, description="Examples per training step.")
    batching: Literal["length", "random"] = Field(
        default="length",
        description="Which examples share a training step: those of similar length, which need "
        "little padding, or random ones.",
    )
    lr: PositiveFloat = Field(default=3e-3, description="Peak learning rate.")
    weight_decay: NonNegativeFloat = Field(default=0.01, description="AdamW's weight decay.")
    dropout: Fraction = Field(
        default=0.1,
        description="Dropout of embeddings, feed-forward networks, residual branches and the head.",
    )
    # Above 0 it keeps torch from its fused attention kernel on a CPU.
    attention_dropout: Fraction = Field(default=0.0, description="Dropout of attention weights.")
    embedding_std: PositiveFloat = Field(
        default=1.0, description="Standard deviation of the token embeddings before training."
    )
    label_smoothing: Fraction = Field(
        default=0.0, description="Share of the target probability spread over all classes."
    )
    schedule: Literal["linear", "cosine", "constant"] = Field(
        default="linear", description="How the learning rate falls after warm-up."
    )
    warmup: Fraction = Field(
        default=0.1, description="Share of all steps over which the rate rises."
    )
    max_grad_norm: NonNegativeFloat = Field(
        default=1.0, description="Largest gradient norm; 0: no clipping."
    )
    validation: Fraction = Field(
        default=0.0,
        description="Hold out this share of the training split and score it instead of the test "
        "split. Of data with a validation split, any share scores that, and nothing is held out.",
    )

    @property
    def by_length(self) -> bool:
        """Whether batches hold examples of similar length."""
        return self.batching == "length"


class Execution(BaseModel):
    """Where and how the arithmetic runs; ``auto`` is resolved before any job and recorded."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        default="auto", description="Where to compute."
    )
    precision: Literal["auto", "fp32", "bf16"] = Field(
        default="auto", description="Precision of the arithmetic; auto: bf16 on a GPU that has it."
    )
    compile: bool = Field(default=False, description="Compile models with torch.compile.")
