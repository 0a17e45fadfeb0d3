"""How models are trained, what their encoders begin with, where it runs, and flags. No torch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)
from pydantic_core import PydanticCustomError

from zoo.config.sizes import Options

# Of learning rates, which alone may be several.
OF_SEVERAL = "Of several, one is chosen for each row on held-out training texts."

# What a command takes as --set NAME=VALUE; every other option has a flag of its own.
SETTINGS = frozenset(
    (
        *("dim", "layers", "heads", "ffn_dim", "vocab_size", "head_hidden"),
        *("batch_size", "batching", "weight_decay", "schedule", "warmup", "max_grad_norm"),
        *("dropout", "attention_dropout", "token_deletion", "label_smoothing"),
        *("embedding_std", "causal", "masked"),
        *("pretrain_epochs", "pretrain_lr", "pretrain_masked"),
        *("precision", "compile", "blocks", "timeout", "evaluate_every"),
    )
)

HELD_OUT = 0.2  # of the training texts, where data have no validation split

# How a cell is trained on streamed data, as far as neither the data nor the user say otherwise.
STREAMED: Mapping[str, Any] = {
    "dim": 32,
    "heads": 2,
    "ffn_dim": 128,
    "layers": 2,
    "max_length": 128,
    "batch_size": 32,
    "dropout": 0.0,
    "label_smoothing": 0.0,
    "schedule": "constant",
    "warmup": 0.03,
    "epochs": 1,
    "evaluate_every": 800,
    "lr": (1e-3, 3e-3, 1e-2, 3e-2),
    "seeds": 6,
    "phases": "train",
    "baseline": "none",
    "threads": 1,
}

Fraction = Annotated[float, Field(ge=0, lt=1)]


def flag(option: str) -> str:
    """An option as the command line has it: ``--max-length``, ``--set dim``."""
    return f"--set {option}" if option in SETTINGS else f"--{option.replace('_', '-')}"


def spelt(option: str, value: object) -> str:
    """An option with its value: ``--max-length 64``, ``--set dim=128``."""
    return f"{flag(option)}{'=' if option in SETTINGS else ' '}{value}"


class Training(Options):
    """How each model trains: AdamW, warm-up and decay, gradient clipping."""

    epochs: PositiveInt = Field(default=6, description="Training epochs.")
    batch_size: PositiveInt = Field(default=32, description="Examples per training step.")
    batching: Literal["length", "random"] = Field(
        default="length", description="Batches of similar length, with little padding, or random."
    )
    lr: PositiveFloat = Field(default=3e-3, description="Peak learning rate.")
    weight_decay: NonNegativeFloat = Field(default=0.01, description="AdamW's weight decay.")
    dropout: Fraction = Field(
        default=0.1, description="Dropout of embeddings, networks, residual branches and the head."
    )
    # Above 0 it keeps torch from its fused attention kernel on a CPU.
    attention_dropout: Fraction = Field(default=0.0, description="Dropout of attention weights.")
    embedding_std: PositiveFloat = Field(
        default=1.0, description="Standard deviation of new token embeddings."
    )
    label_smoothing: Fraction = Field(
        default=0.0, description="Share of the target spread over all classes."
    )
    schedule: Literal["linear", "cosine", "constant"] = Field(
        default="linear", description="How the learning rate falls."
    )
    warmup: Fraction = Field(default=0.1, description="Share of the steps in which the rate rises.")
    max_grad_norm: NonNegativeFloat = Field(
        default=1.0, description="Largest gradient norm; 0: no clipping."
    )
    validation: Fraction = Field(
        default=0.0,
        description="Score this share of the training split instead of the test split. Of data "
        "with a validation split, any share scores that.",
    )
    evaluate_every: NonNegativeInt = Field(
        default=0,
        description="Examples between two evaluations on held-out texts. A training then ends when "
        "two in a row solve the task, or after the last epoch; 0: after the last epoch.",
    )


def _device(value: str) -> str:
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?|mps", value):
        raise PydanticCustomError("device", "expected auto, cpu, cuda, cuda:N or mps")
    return value


Device = Annotated[
    str,
    AfterValidator(_device),
    Field(description="Where to compute: auto, cpu, cuda, cuda:N for one GPU of several, or mps."),
]


class Execution(Options):
    """Where and how the arithmetic runs; ``auto`` is resolved before any job and recorded."""

    device: Device = "auto"
    precision: Literal["auto", "fp32", "tf32", "bf16"] = Field(
        default="auto",
        description="Precision of the arithmetic; auto: bf16 on a GPU that has it and is faster "
        "with it at this size, else fp32.",
    )
    compile: bool = Field(default=False, description="Compile models with torch.compile.")


# The variable with the number of a job among those that run at once, which decides its GPU.
SLOT = "ZOO_SLOT"
# What tells machines apart whose timings must not be ranked together.
MACHINE_FIELDS = tuple("device device_name driver cuda torch threads precision cores".split())


def machine_of(environment: Mapping[str, Any]) -> tuple[str, ...]:
    """What timings depend on, in the order of MACHINE_FIELDS; "" for a field that is missing.

    Timings are ranked together only where these are equal.
    """
    return tuple(str(environment.get(field) or "") for field in MACHINE_FIELDS)


class Pretraining(Options):
    """Where encoders begin, and how the stage before their training is trained.

    The stage is masked language modelling; what is not here is as for the training.
    """

    init: Literal["", "pretrain"] = Field(
        default="",
        description="Begin with pretrain; by default new weights. pretrain is masked language "
        "modelling on the training texts before each training.",
    )
    pretrain_epochs: PositiveInt = Field(
        default=20, description="Passes of the pretraining over the training texts."
    )
    pretrain_lr: PositiveFloat = Field(
        default=3e-3, description="Peak learning rate of the pretraining."
    )
    pretrain_masked: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.3, description="Share of word pieces masked in pretraining."
    )


NO_PRETRAINING = Pretraining()
