"""Options as the command line has them: ``--max-length 64``, ``--set dim=128``."""

from __future__ import annotations

# What a command takes as --set NAME=VALUE; every other option has a flag of its own.
SETTINGS = frozenset(
    (
        *("dim", "layers", "heads", "ffn_dim", "vocab_size", "head_hidden"),
        *("batch_size", "batching", "weight_decay", "schedule", "warmup", "max_grad_norm"),
        *("dropout", "attention_dropout", "token_deletion", "label_smoothing"),
        *("embedding_std", "causal", "masked"),
        *("pretrain_epochs", "pretrain_lr", "pretrain_masked"),
        *("precision", "compile", "blocks", "timeout"),
    )
)


def flag(option: str) -> str:
    """An option as the command line has it: ``--max-length``, ``--set dim``."""
    return f"--set {option}" if option in SETTINGS else f"--{option.replace('_', '-')}"


def spelt(option: str, value: object) -> str:
    """An option with its value: ``--max-length 64``, ``--set dim=128``."""
    return f"{flag(option)}{'=' if option in SETTINGS else ' '}{value}"
