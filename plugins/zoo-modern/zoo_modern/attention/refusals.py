"""Refusing what an attention does not declare, so that no request is silently ignored."""

from __future__ import annotations

import torch

from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens


def refuse_slots(
    name: str,
    position: PositionalEncoding,
    tokens: Tokens,
    width: int,
    *allowed: str,
) -> None:
    """ValueError where the encoding has a slot that this attention does not use.

    allowed: of 'rotate', 'bias' and 'content-bias'. width: that of the encoding's queries.
    """
    one = tokens.positions[..., :1]  # one position shows which slots an encoding has
    slots = {"content-bias": position.reads_content}
    if "bias" not in allowed:
        slots["bias"] = position.bias(one, one) is not None
    if "rotate" not in allowed:
        sample = torch.zeros(1, 1, 1, width, device=one.device)
        turned = position.rotate(sample, one), position.rotate_keys(sample, one)
        slots["rotate"] = any(x is not sample for x in turned)
    for slot, used in slots.items():
        if used and slot not in allowed:
            raise ValueError(f"attention '{name}' cannot use an encoding with '{slot}'")


def at_least(name: str, least: int, value: object) -> None:
    """ValueError where the parameter is not a whole number of at least ``least``."""
    if type(value) is not int or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
