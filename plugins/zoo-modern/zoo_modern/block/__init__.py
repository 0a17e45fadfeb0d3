"""The block components of this distribution, and their registration."""

from __future__ import annotations

from zoo.registry import Register


def register_all(register: Register) -> None:
    """Register every one of them."""
    here, can = "zoo_modern.block", ("residual", "cross")
    register(
        "block",
        "sandwich",
        f"{here}.sandwich:Sandwich",
        summary="a norm before and after each sub-layer, inside the residual",
        source="Ding et al. 2021, CogView, section 2.4, https://arxiv.org/abs/2105.13290",
        capabilities=can,
    )
    register(
        "block",
        "parallel",
        f"{here}.parallel:Parallel",
        summary="attention and feed-forward network read the same input, and both are added",
        source="Chowdhery et al. 2022, PaLM, section 2, https://arxiv.org/abs/2204.02311",
        capabilities=can,
        parameters={"shared_norm": False},
    )
    register(
        "block",
        "rezero",
        f"{here}.rezero:ReZero",
        summary="no norms; a learned factor of what is added, 0 at first",
        source="Bachlechner et al. 2020, equation 2, https://arxiv.org/abs/2003.04887",
        capabilities=can,
    )
    register(
        "block",
        "layer-scale",
        f"{here}.layer_scale:LayerScale",
        summary="pre-norm, with a small learned factor for every channel of what is added",
        source="Touvron et al. 2021, CaiT, equation 4, https://arxiv.org/abs/2103.17239",
        capabilities=can,
        parameters={"initial": None},
    )
    register(
        "block",
        "deepnorm",
        f"{here}.deepnorm:DeepNorm",
        summary="post-norm with a heavier residual and smaller initial weights, for deep stacks",
        source="Wang et al. 2022, DeepNet, figure 2, https://arxiv.org/abs/2203.00555",
        capabilities=can,
    )
    register(
        "block",
        "macaron",
        f"{here}.macaron:Macaron",
        summary="attention between two halves of a feed-forward network",
        source="Lu et al. 2019, Macaron Net, https://arxiv.org/abs/1906.02762",
        capabilities=can,
    )
    register(
        "block",
        "hyper-connections",
        f"{here}.hyper_connections:HyperConnections",
        summary="several residual streams, which sub-layers read and write by learned weights",
        source="Zhu et al. 2024, section 2, https://arxiv.org/abs/2409.19606",
        capabilities=can,
        parameters={"streams": 4, "dynamic": True},
    )
    register(
        "block",
        "drop-path",
        f"{here}.drop_path:DropPath",
        summary="pre-norm; each sub-layer is left out by chance, more often the deeper it is",
        source="Huang et al. 2016, section 3, https://arxiv.org/abs/1603.09382",
        capabilities=(*can, "random"),
        parameters={"rate": 0.5, "schedule": "linear"},
    )
