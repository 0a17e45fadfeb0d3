"""Blocks: how a layer arranges its sub-layers; ``base`` states the contract."""

from __future__ import annotations

from zoo.registry import Register
from zoo.registry.hookspecs import hookimpl


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in blocks."""
    here = "zoo.components.block"
    register(
        "block",
        "pre",
        f"{here}.pre:Pre",
        summary="norm before each sub-layer, whose input is added after it; a final norm",
        source="Xiong et al. 2020, figure 1b, https://arxiv.org/abs/2002.04745",
        capabilities=("residual", "cross"),
    )
    register(
        "block",
        "post",
        f"{here}.post:Post",
        summary="norm after each addition of a sub-layer's input, as in 2017",
        source="Vaswani et al. 2017, section 3.1, https://arxiv.org/abs/1706.03762",
        capabilities=("residual", "cross"),
    )
    register(
        "block",
        "res-post",
        f"{here}.res_post:ResPost",
        summary="norm of each sub-layer's output, before its input is added; a final norm",
        source="Liu et al. 2022, section 3.2, https://arxiv.org/abs/2111.09883",
        capabilities=("residual", "cross"),
    )
    register(
        "block",
        "bare",
        f"{here}.bare:Bare",
        summary="norm and sub-layer alone, without the addition of the input",
        capabilities=("cross",),
    )
