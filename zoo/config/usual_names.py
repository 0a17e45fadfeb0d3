"""Names that other programs give to options, and what the zoo calls them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from zoo.errors import close_match

# The zoo's name to the usual ones. Of several that a command has, the first here is named.
NAMES = {
    "lr": ("learning_rate", "learning_rates", "step_size"),
    "epochs": ("num_epochs", "n_epochs", "num_train_epochs", "iterations"),
    "batch_size": ("bs", "batch", "per_device_train_batch_size", "train_batch_size"),
    "weight_decay": ("wd", "l2", "decay"),
    "warmup": ("warmup_ratio", "warmup_share"),
    "max_grad_norm": ("clip", "clip_norm", "grad_clip", "gradient_clip", "clip_grad_norm"),
    "schedule": ("scheduler", "lr_scheduler", "lr_scheduler_type"),
    "dim": ("d_model", "hidden_size", "width", "embedding_dim", "embed_dim", "model_dim"),
    "layers": ("num_layers", "n_layers", "num_hidden_layers", "depth"),
    "heads": ("num_heads", "n_heads", "num_attention_heads"),
    "ffn_dim": ("hidden", "d_ff", "ff_dim", "intermediate_size", "dim_feedforward"),
    "max_length": ("max_len", "seq_len", "seq_length", "max_seq_length", "context", "length"),
    "vocab_size": ("vocab", "vocabulary_size", "num_tokens"),
    "pe": ("position", "positions", "positional_encoding", "pos_encoding", "position_encoding"),
    "ffn": ("mlp", "feed_forward", "activation"),
    "norm": ("normalization", "normalisation"),
    "pool": ("pooling",),
    "seeds": ("num_seeds", "n_seeds", "repeats", "runs", "seed", "random_state", "random_seed"),
    "seed": ("seeds", "random_state", "random_seed"),
    "data": ("dataset", "datasets", "data_set", "train_file", "train_data"),
    "test": ("test_file", "test_data", "test_set"),
    "test_size": ("test_share", "test_fraction", "holdout"),
    "validation": ("val_size", "validation_size", "validation_split", "val_split", "dev_size"),
    "text_column": ("text", "text_col", "text_field"),
    "label_column": ("label", "labels", "target", "label_col", "label_field", "target_column"),
    "delimiter": ("sep", "separator"),
    "precision": ("dtype", "amp", "fp16", "bf16"),
    "device": ("gpu", "cuda", "gpus"),
    "jobs": ("n_jobs", "workers", "num_workers", "parallel"),
    "threads": ("num_threads", "n_threads", "cpus", "cores"),
    "on": ("executor", "backend"),
    "suite": ("config", "config_file"),
    "out": ("output", "output_dir", "out_dir", "save_dir", "logdir"),
    "save": ("out", "output", "output_dir", "save_dir", "model_dir"),
    "fresh": ("force", "overwrite", "no_cache"),
    "plan": ("dry_run",),
    "track": ("tracker", "report_to", "logger"),
    "ensemble": ("members", "num_models", "n_models"),
    "init": ("pretrained", "checkpoint", "from_pretrained"),
    "blocks": ("rounds", "repetitions", "rounds_per_model"),
    "beam": ("num_beams", "beam_size", "beam_width"),
    "quiet": ("silent", "no_progress"),
}


# What a command takes as --set NAME=VALUE; every other option has a flag of its own.
SETTINGS = frozenset(
    (
        *("dim", "layers", "heads", "ffn_dim", "vocab_size", "head_hidden"),
        *("batch_size", "batching", "weight_decay", "schedule", "warmup", "max_grad_norm"),
        *("dropout", "attention_dropout", "token_dropout", "token_deletion", "label_smoothing"),
        *("embedding_std", "tuning_seeds", "tuning_share", "ensemble", "all_positions", "causal"),
        *("masked", "whole_words", "beam"),
        *("pretrain_epochs", "pretrain_lr", "pretrain_masked", "pretrain_whole_words"),
        *("precision", "compile", "blocks", "timeout"),
    )
)
# What options were called in records and saved models of earlier versions.
OLD_NAMES = {
    "clip": "max_grad_norm",
    "hidden": "ffn_dim",
    "members": "ensemble",
    "rounds": "blocks",
}
# Options that are gone, with the value by which an earlier record says that it did without.
GONE = {"pretrain_data": ""}
_RENAMED_IN = ("sizes", "training", "task_options", "pretraining", "base")  # parts of a config
_MOVED = "|".join(name.replace("_", "-") for name in (*OLD_NAMES, *sorted(SETTINGS)))
# What is in quotes is matched first, and stays; then an option, and its value where it has one.
_OLD_FLAG = re.compile(rf"""'[^']*'|"[^"]*"|--(no-)?({_MOVED})(?!\S)(?: (?!--)(\S+))?""")


def with_new_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """A record's config, or a saved model's, with the names that options have now."""
    return {
        part: {
            OLD_NAMES.get(name, name): each
            for name, each in value.items()
            if name not in GONE or each != GONE[name]
        }
        if part in _RENAMED_IN and isinstance(value, Mapping)
        else value
        for part, value in config.items()
    }


def with_new_flags(command: str) -> str:
    """A record's command with the options as they are given now."""

    def renewed(found: re.Match[str]) -> str:
        no, old, value = found.groups()
        if old is None:
            return found[0]
        name = old.replace("-", "_")
        return spelt(OLD_NAMES.get(name, name), value or ("no" if no else "yes"))

    return _OLD_FLAG.sub(renewed, command)


def flag(option: str) -> str:
    """An option as the command line has it: ``--max-length``, ``--set dim``."""
    return f"--set {option}" if option in SETTINGS else f"--{option.replace('_', '-')}"


def spelt(option: str, value: object) -> str:
    """An option with its value: ``--max-length 64``, ``--set dim=128``."""
    return f"{flag(option)}{'=' if option in SETTINGS else ' '}{value}"


def zoo_name(name: str, known: Collection[str]) -> str | None:
    """The option of these that is meant by a usual name, or by one with an error in it.

    name, known: with underscores, as in suites. None where no option is likely to be meant.
    """
    exact = (own for own, usual in NAMES.items() if own in known and name in usual)
    return next(exact, None) or close_match(name, known)


def option_hint(name: str, known: Iterable[str]) -> str:
    """A clause for an option that does not exist: ``"; did you mean 'lr'? There is: …"``."""
    known = list(known)
    found = zoo_name(name, known)
    return f"{f'; did you mean {found!r}?' if found else '.'} There is: {', '.join(known)}"
