"""Refusing parameters that an attention cannot have."""

from __future__ import annotations


def at_least(name: str, least: int, value: object) -> None:
    """ValueError where the parameter is not a whole number of at least ``least``."""
    if type(value) is not int or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
