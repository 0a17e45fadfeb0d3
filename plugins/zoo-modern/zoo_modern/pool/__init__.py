"""The pool components of this distribution, and their registration."""

from __future__ import annotations

from zoo.registry import Register


def register_all(register: Register) -> None:
    """Register every one of them."""
    here = "zoo_modern.pool"
    register(
        "pool",
        "attention",
        f"{here}.attention:AttentionPool",
        summary="a mean over real tokens with learned weights",
        source="Yang et al. 2016, equations 5 to 7, https://aclanthology.org/N16-1174",
    )
    register(
        "pool",
        "multi-query",
        f"{here}.multi_query:MultiQuery",
        summary="several means with learned weights, side by side",
        source="Lin et al. 2017, equations 6 and 7, https://arxiv.org/abs/1703.03130",
        parameters={"queries": 4, "hidden": None},
    )
    register(
        "pool",
        "max",
        f"{here}.max:Max",
        summary="the greatest value of every channel over real tokens",
        source="Reimers and Gurevych 2019, section 3, https://arxiv.org/abs/1908.10084",
    )
    register(
        "pool",
        "last",
        f"{here}.last:Last",
        summary="the last real token's vector",
        source="Radford et al. 2018, GPT, section 3.2, "
        "https://cdn.openai.com/research-covers/language-unsupervised/"
        "language_understanding_paper.pdf",
    )
