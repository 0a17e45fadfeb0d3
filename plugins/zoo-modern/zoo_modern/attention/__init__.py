"""The attention components of this distribution, and their registration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.registry import Register

_SOFT = ("rotate", "bias", "content-bias", "padding", "causal", "cross", "cache")
_MAP = (*_SOFT, "map")
_CAUSAL = ("padding", "causal", "causal-only", "cache", "order")
_PLACES = ("padding", "causal", "cross", "cache", "order", "fixed-length")
_DEEPSEEK = "DeepSeek-AI 2024, DeepSeek-V2, section 2.1, https://arxiv.org/abs/2405.04434"
_GQA = "Ainslie et al. 2023, GQA, section 2.2, https://arxiv.org/abs/2305.13245"
_MQA = "Shazeer 2019, Fast Transformer Decoding, section 3, https://arxiv.org/abs/1911.02150"


def register_all(register: Register) -> None:
    """Register every one of them."""

    def attention(
        name: str,
        factory: str,
        capabilities: tuple[str, ...],
        summary: str,
        source: str,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        register(
            "attention",
            name,
            f"zoo_modern.attention.{factory}",
            summary=summary,
            source=source,
            capabilities=capabilities,
            parameters=parameters,
        )

    attention(
        "mqa",
        "grouped_query:MultiQuery",
        _MAP,
        "multi-query: one key and value for all heads",
        _MQA,
    )
    attention(
        "gqa",
        "grouped_query:GroupedQuery",
        _MAP,
        "grouped-query: several heads share a key and value",
        _GQA,
        {"kv_heads": None},
    )
    attention(
        "mla",
        "latent:Latent",
        ("rotate", "bias", "padding", "causal", "cross", "cache", "map"),
        "multi-head latent: keys and values from a small latent, which is cached",
        _DEEPSEEK,
        {"kv_rank": None, "q_rank": None},
    )
    attention(
        "qk-norm",
        "qk_norm:QKNorm",
        _MAP,
        "queries and keys normed over each head",
        "Dehghani et al. 2023, ViT-22B, section 2.1, https://arxiv.org/abs/2302.05442",
        {"norm": "rms"},
    )
    attention(
        "cosine",
        "cosine:Cosine",
        _MAP,
        "softmax over the cosine of query and key, with a learned temperature per head",
        "Liu et al. 2022, Swin Transformer V2, equation 2, https://arxiv.org/abs/2111.09883",
    )
    attention(
        "gated",
        "gated:Gated",
        _MAP,
        "heads times a sigmoid gate from the layer's input",
        "Qiu et al. 2025, Gated Attention, section 2.2, https://arxiv.org/abs/2505.06708",
        {"gate": "elementwise"},
    )
    attention(
        "value-residual",
        "value_residual:ValueResidual",
        _MAP,
        "values plus those of the first layer, in learned shares",
        "Zhou et al. 2024, Value Residual Learning, https://arxiv.org/abs/2410.17897",
    )
    attention(
        "sink",
        "sink:Sink",
        _SOFT,
        "a learned sink logit per head, so that a head may attend to nothing",
        "OpenAI 2025, gpt-oss model card, section 2.2, https://arxiv.org/abs/2508.10925",
    )
    attention(
        "talking-heads",
        "talking_heads:TalkingHeads",
        _SOFT,
        "scores and weights mixed over heads, before and after the softmax",
        "Shazeer et al. 2020, Talking-Heads Attention, https://arxiv.org/abs/2003.02436",
    )
    attention(
        "sigmoid",
        "sigmoid:Sigmoid",
        _SOFT,
        "a sigmoid of every score in place of the softmax",
        "Ramapuram et al. 2024, Sigmoid Self-Attention, https://arxiv.org/abs/2409.04431",
    )
    attention(
        "differential",
        "differential:Differential",
        _SOFT,
        "the difference of two softmax maps, whose common noise cancels",
        "Ye et al. 2024, Differential Transformer, https://arxiv.org/abs/2410.05258",
    )
    attention(
        "top-k",
        "top_k:TopK",
        _SOFT,
        "softmax over the largest scores of each query",
        "Zhao et al. 2019, Explicit Sparse Transformer, https://arxiv.org/abs/1912.11637",
        {"keys": 8},
    )
    attention(
        "aft",
        "aft:AttentionFree",
        _PLACES,
        "attention-free: means of values weighted by key and pair of positions, channel by channel",
        "Zhai et al. 2021, An Attention Free Transformer, https://arxiv.org/abs/2105.14103",
        {"rank": 128},
    )
    attention(
        "gmlp",
        "gmlp:GatedMLP",
        (*_PLACES, "one-head"),
        "gMLP: a gate that mixes tokens by a learned matrix over positions",
        "Liu et al. 2021, Pay Attention to MLPs, https://arxiv.org/abs/2105.08050",
        {"expand": 3},
    )
    attention(
        "short-conv",
        "short_conv:ShortConvolution",
        _CAUSAL,
        "a short causal convolution between two gates (LFM2)",
        "Liquid AI 2025, LFM2 technical report, https://arxiv.org/abs/2511.23404",
        {"size": 3},
    )
    attention(
        "retention",
        "retention:Retention",
        ("rotate", *_CAUSAL),
        "linear attention with a fixed decay per head (RetNet)",
        "Sun et al. 2023, Retentive Network, https://arxiv.org/abs/2307.08621",
    )
    attention(
        "gla",
        "gla:GatedLinear",
        _CAUSAL,
        "linear attention with a decay per key channel, computed from the input",
        "Yang et al. 2024, Gated Linear Attention, https://arxiv.org/abs/2312.06635",
        {"rank": 16},
    )
    attention(
        "deltanet",
        "deltanet:DeltaNet",
        _CAUSAL,
        "linear attention whose state forgets what a new key replaces",
        "Yang et al. 2024, DeltaNet by chunks, section 3, https://arxiv.org/abs/2406.06484",
        {"size": 4},
    )
    attention(
        "gated-deltanet",
        "gated_deltanet:GatedDeltaNet",
        _CAUSAL,
        "DeltaNet with a decay of the whole state and an output gate",
        "Yang et al. 2025, Gated Delta Networks, https://arxiv.org/abs/2412.06464",
        {"size": 4},
    )
    attention(
        "mamba2",
        "mamba2:Mamba2",
        _CAUSAL,
        "a selective state space with one decay per head (SSD)",
        "Dao and Gu 2024, Transformers are SSMs, https://arxiv.org/abs/2405.21060",
        {"state": 128, "expand": 2, "size": 4},
    )
