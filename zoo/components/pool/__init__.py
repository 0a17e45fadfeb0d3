"""Pools: (x, attention_mask) -> (B, D); ``base`` states the contract."""

from __future__ import annotations

from zoo.registry import Register
from zoo.registry.hookspecs import hookimpl


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in pools."""
    here = "zoo.components.pool"
    register(
        "pool",
        "mean",
        f"{here}.mean:Mean",
        summary="the mean of all tokens, without padding",
        source="Reimers and Gurevych 2019, section 3, https://arxiv.org/abs/1908.10084",
    )
    register(
        "pool",
        "cls",
        f"{here}.cls:Cls",
        summary="the vector of the first token, [CLS]",
        source="Devlin et al. 2019, section 3.1, https://arxiv.org/abs/1810.04805",
        capabilities=("first",),
    )
