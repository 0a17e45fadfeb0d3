"""Norms: ``Norm(dim)(x)`` maps (…, D) to (…, D), each position on its own."""

from __future__ import annotations

from zoo.registry import Register
from zoo.registry.hookspecs import hookimpl

_BA = "Ba et al. 2016, Layer Normalization, https://arxiv.org/abs/1607.06450"


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in norms."""
    here = "zoo.components.norm"
    register(
        "norm",
        "layer",
        f"{here}.layer:LayerNorm",
        summary="layer norm: zero mean, unit variance, learned scale and shift",
        source=_BA,
        capabilities=("scale-invariant", "unit-variance"),
        parameters={"eps": 1e-5},
    )
    register(
        "norm",
        "layer-plain",
        f"{here}.layer:PlainLayerNorm",
        summary="layer norm without the learned scale and shift",
        source=_BA,
        capabilities=("scale-invariant", "unit-variance"),
        parameters={"eps": 1e-5},
    )
    register(
        "norm",
        "layer-std",
        f"{here}.layer_std:StdLayerNorm",
        summary="layer norm by the standard deviation over D - 1, plus epsilon",
        source="Rush 2018, The Annotated Transformer, https://aclanthology.org/W18-2509",
        capabilities=("scale-invariant", "unbiased"),
        parameters={"eps": 1e-6},
    )
    register(
        "norm",
        "rms",
        f"{here}.rms:RMSNorm",
        summary="RMSNorm: unit root mean square, learned scale, no mean taken",
        source="Zhang and Sennrich 2019, equation 4, https://arxiv.org/abs/1910.07467",
        capabilities=("scale-invariant", "unit-rms"),
        parameters={"eps": 1e-6},
    )
    register("norm", "none", f"{here}.none:NoNorm", summary="no norm: the input as it is")
