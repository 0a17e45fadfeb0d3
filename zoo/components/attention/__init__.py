"""Attention variants; ``zoo.components.attention.base`` states the contract."""

from __future__ import annotations

from zoo.registry import Register
from zoo.registry.hookspecs import hookimpl

_VASWANI = "Vaswani et al. 2017, Attention Is All You Need, https://arxiv.org/abs/1706.03762"
_EXACT = ("rotate", "bias", "content-bias", "padding", "causal", "cross", "cache", "exact", "map")


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in attentions."""
    here = "zoo.components.attention"
    register(
        "attention",
        "single",
        f"{here}.split:Single",
        summary="one head as wide as the model, whatever the number of heads",
        source=_VASWANI,
        capabilities=(*_EXACT, "one-head"),
    )
    for name, factory, summary in (
        (
            "naive",
            "naive:Naive",
            "exact attention head by head in a loop, each with linear layers of its own",
        ),
        ("split", "split:Split", "exact attention, with a linear layer each for Q, K and V"),
        ("packed", "split:Packed", "exact attention, with one linear layer for Q, K and V"),
    ):
        register(
            "attention",
            name,
            f"{here}.{factory}",
            summary=summary,
            source=_VASWANI,
            capabilities=_EXACT,
        )
    register(
        "attention",
        "fused",
        f"{here}.fused:Fused",
        summary="as packed, with PyTorch's kernel scaled_dot_product_attention",
        source="Dao et al. 2022, FlashAttention, https://arxiv.org/abs/2205.14135",
        capabilities=_EXACT,
    )
    register(
        "attention",
        "torch",
        f"{here}.torch_mha:TorchMultiHead",
        summary="exact attention: torch.nn.MultiheadAttention, unchanged",
        source="https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html",
        capabilities=("bias", "padding", "causal", "cross", "exact", "map"),
    )
