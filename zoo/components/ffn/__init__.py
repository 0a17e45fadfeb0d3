"""Feed-forward networks: ``FFN(dim, hidden, dropout)(x, layer)`` maps (…, D) to (…, D).

A factory may return None: the layer then has no feed-forward sub-layer at all.
"""

from __future__ import annotations

from zoo.registry import Register
from zoo.registry.hookspecs import hookimpl


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in feed-forward networks."""
    here = "zoo.components.ffn"
    register(
        "ffn",
        "relu",
        f"{here}.relu:ReLU",
        summary="two linear layers with ReLU between",
        source="Vaswani et al. 2017, equation 2, https://arxiv.org/abs/1706.03762",
    )
    register(
        "ffn",
        "gelu",
        f"{here}.gelu:GELU",
        summary="two linear layers with the exact GELU between",
        source="Hendrycks and Gimpel 2016, section 2, https://arxiv.org/abs/1606.08415",
    )
    register(
        "ffn",
        "gelu-tanh",
        f"{here}.gelu:TanhGELU",
        summary="two linear layers with GELU by its tanh approximation",
        source="Hendrycks and Gimpel 2016, section 2, https://arxiv.org/abs/1606.08415",
    )
    register(
        "ffn",
        "swiglu",
        f"{here}.swiglu:SwiGLU",
        summary="gated by SiLU, with as many parameters as the others",
        source="Shazeer 2020, equation 6, https://arxiv.org/abs/2002.05202",
        capabilities=("gated",),
        parameters={"matched": True},
    )
    register("ffn", "none", f"{here}.none:no_ffn", summary="no feed-forward network")
