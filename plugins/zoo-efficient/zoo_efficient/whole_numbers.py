"""Refusing parameters that an attention cannot have."""

from __future__ import annotations


def at_least(name: str, least: int, value: int) -> int:
    """The value of an integer parameter; ValueError where it is not an integer, or too small."""
    if type(value) is not int or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return value
