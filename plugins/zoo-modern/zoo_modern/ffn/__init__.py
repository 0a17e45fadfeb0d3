"""Feed-forward networks; zoo.components.ffn states the contract."""

from __future__ import annotations

from zoo.registry import Register

_SHAZEER = "Shazeer 2020, equation 6, https://arxiv.org/abs/2002.05202"


def register_all(register: Register) -> None:
    """Register every one of them."""
    here = "zoo_modern.ffn"
    for name, factory, summary in (
        ("geglu", "geglu:GEGLU", "GELU-gated linear unit"),
        ("reglu", "reglu:ReGLU", "ReLU-gated linear unit"),
        ("glu", "glu:GLU", "gated linear unit"),
    ):
        register(
            "ffn",
            name,
            f"{here}.{factory}",
            summary=f"{summary} with as many parameters as the plain ones",
            source=_SHAZEER,
            capabilities=("gated",),
            parameters={"matched": True},
        )
    register(
        "ffn",
        "relu2",
        f"{here}.relu2:SquaredReLU",
        summary="two linear layers with the square of ReLU between",
        source="So et al. 2021, Primer, https://arxiv.org/abs/2109.08668",
    )
    register(
        "ffn",
        "moe",
        f"{here}.moe:Experts",
        summary="each token computed by the likeliest of several networks, with a balancing loss",
        source="Fedus et al. 2022, equations 1 to 6, https://arxiv.org/abs/2101.03961",
        parameters={"experts": 4, "active": 1, "balance": 0.01},
    )
