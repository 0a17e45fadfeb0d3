"""What a run is asked to do, apart from which components. No torch here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt

Fraction = Annotated[float, Field(ge=0, lt=1)]


class Training(BaseModel):
    """How each trial trains: AdamW, warm-up and decay, gradient clipping.

    lr: peak learning rate. warmup: share of all steps over which it rises from zero.
    schedule: how it falls afterwards. clip: greatest gradient norm, 0 for no clipping.
    dropout: in feed-forward networks, residual branches, embeddings and before the head.
    attention_dropout: of attention weights; above 0 it keeps torch from its fused kernel on a CPU.
    token_dropout: share of training tokens replaced by the unknown token.
    token_deletion: share of each training text's tokens left out, the rest moved together.
    embedding_std: of the elements of a token's vector before training.
    validation: share of the training split held out and scored in place of the test split; what
    else of the split says the same word for word is not trained on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    epochs: PositiveInt = 6
    batch_size: PositiveInt = 32
    lr: PositiveFloat = 3e-3
    weight_decay: NonNegativeFloat = 0.01
    dropout: Fraction = 0.1
    attention_dropout: Fraction = 0.0
    token_dropout: Fraction = 0.0
    token_deletion: Fraction = 0.0
    embedding_std: PositiveFloat = 1.0
    label_smoothing: Fraction = 0.0
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    warmup: Fraction = 0.1
    clip: NonNegativeFloat = 1.0
    validation: Fraction = 0.0


# Settings that came after records were first published: what a trial did whose record lacks them.
LATER: dict[str, dict[str, Any]] = {
    "sizes": {"members": 1},
    "training": {"token_deletion": 0.0, "embedding_std": 1.0},
}


class Execution(BaseModel):
    """Where and how the arithmetic runs; ``auto`` is resolved by the worker and recorded."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    compile: bool = False
