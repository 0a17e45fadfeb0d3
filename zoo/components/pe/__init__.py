"""Positional encodings; ``zoo.components.pe.base`` states the contract."""

from __future__ import annotations

from zoo.registry import Register
from zoo.registry.hookspecs import hookimpl


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in encodings."""
    here = "zoo.components.pe"
    register(
        "pe",
        "none",
        f"{here}.none:NoPositions",
        summary="no positions: the order of the tokens is not known",
    )
    register(
        "pe",
        "sin",
        f"{here}.sin:Sinusoidal",
        summary="sines and cosines added to the embeddings",
        source="Vaswani et al. 2017, section 3.5, https://arxiv.org/abs/1706.03762",
        capabilities=("embed", "order"),
        parameters={"base": 10000.0},
    )
    register(
        "pe",
        "learned",
        f"{here}.learned:Learned",
        summary="a learned vector per position added to the embeddings",
        source="Gehring et al. 2017, section 3.1, https://arxiv.org/abs/1705.03122",
        capabilities=("embed", "order", "fixed-length"),
        parameters={"std": 0.02},
    )
    register(
        "pe",
        "rope",
        f"{here}.rope:Rotary",
        summary="rotary: queries and keys rotated by their position",
        source="Su et al. 2021, RoFormer, equation 34, https://arxiv.org/abs/2104.09864",
        capabilities=("rotate", "order"),
        parameters={"base": 10000.0},
    )
    register(
        "pe",
        "alibi",
        f"{here}.alibi:Alibi",
        summary="attention scores lowered in proportion to distance, on both sides",
        source="Press et al. 2022, section 3, https://arxiv.org/abs/2108.12409",
        capabilities=("bias", "order"),
    )
