"""Norms, and functions that stand in their place; zoo.components.norm states the contract."""

from __future__ import annotations

from zoo.registry import Register


def register_all(register: Register) -> None:
    """Register every one of them."""
    here = "zoo_modern.norm"
    register(
        "norm",
        "dyt",
        f"{here}.dyt:DyT",
        summary="a scaled tanh of each number, no statistics",
        source="Zhu et al. 2025, section 4, https://arxiv.org/abs/2503.10622",
        parameters={"alpha": 0.5},
    )
    register(
        "norm",
        "derf",
        f"{here}.derf:Derf",
        summary="a scaled and shifted error function of each number, no statistics",
        source="Chen et al. 2025, https://arxiv.org/abs/2512.10938",
        parameters={"alpha": 0.5},
    )
    register(
        "norm",
        "scale",
        f"{here}.scale:ScaleNorm",
        summary="vectors of one learned length",
        source="Nguyen and Salazar 2019, section 2.2, https://arxiv.org/abs/1910.05895",
        capabilities=("scale-invariant", "unit-rms"),
        parameters={"eps": 1e-5},
    )
    register(
        "norm",
        "group",
        f"{here}.group:GroupNorm",
        summary="zero mean and unit variance within groups of the width",
        source="Wu and He 2018, section 3, https://arxiv.org/abs/1803.08494",
        capabilities=("scale-invariant", "unit-variance"),
        parameters={"groups": 4, "eps": 1e-5},
    )
