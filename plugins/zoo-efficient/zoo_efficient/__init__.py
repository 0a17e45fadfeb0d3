"""Attentions for encoder-zoo whose cost grows slower than the square of the length.

Shapes in all files: B batch, L length, D model width, H heads, Dh head width; Lq and Lk where
queries and keys differ in length.
"""

from __future__ import annotations

from zoo.registry import Register
from zoo.registry.hookspecs import hookimpl

requires_zoo = ">=0.1"


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the attentions of this distribution."""
    register(
        "attention",
        "linear",
        "zoo_efficient.linear:Linear",
        summary="the softmax replaced by a product of features elu(x) + 1",
        source="Katharopoulos et al. 2020, Transformers are RNNs, https://arxiv.org/abs/2006.16236",
        capabilities=("rotate", "padding", "causal", "cross", "cache"),
    )
    register(
        "attention",
        "performer",
        "zoo_efficient.performer:Performer",
        summary="FAVOR+: the softmax estimated by positive orthogonal random features",
        source="Choromanski et al. 2021, Rethinking Attention, https://arxiv.org/abs/2009.14794",
        # With random features, rotated scores depend on offsets alone only on average: `absolute`.
        capabilities=("rotate", "absolute", "padding", "causal", "cross", "cache", "map"),
        parameters={"features": None},
    )
    register(
        "attention",
        "linformer",
        "zoo_efficient.linformer:Linformer",
        summary="keys and values projected from L rows to a fixed few",
        source="Wang et al. 2020, Linformer, https://arxiv.org/abs/2006.04768",
        # A position's output depends on its own query only, so queries may come from another text.
        capabilities=("rotate", "padding", "cross", "order", "fixed-length"),
        parameters={"rank": 64},
    )
    register(
        "attention",
        "nystrom",
        "zoo_efficient.nystrom:Nystrom",
        summary="the softmax matrix rebuilt from landmarks, the means of segments",
        source="Xiong et al. 2021, Nyströmformer, https://arxiv.org/abs/2102.03902",
        # No `cross`: the landmarks are means of all queries.
        capabilities=("rotate", "padding", "order"),
        parameters={"landmarks": 32, "iterations": 6},
    )
    register(
        "attention",
        "window",
        "zoo_efficient.window:Window",
        summary="exact attention to the keys at most size tokens away, on both sides",
        source="Beltagy et al. 2020, Longformer, section 3.1, https://arxiv.org/abs/2004.05150",
        capabilities=("rotate", "bias", "padding", "causal", "map", "order"),
        parameters={"size": 64},
    )
    register(
        "attention",
        "fourier",
        "zoo_efficient.fourier:Fourier",
        summary="FNet: tokens mixed by a Fourier transform, nothing learned",
        source="Lee-Thorp et al. 2022, FNet, https://arxiv.org/abs/2105.03824",
        capabilities=("padding", "order", "one-head"),
        parameters={"norm": "ortho"},
    )
