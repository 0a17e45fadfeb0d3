"""Positional encodings; zoo.components.pe.base states the contract."""

from __future__ import annotations

from zoo.registry import Register


def register_all(register: Register) -> None:
    """Register every one of them."""
    here = "zoo_modern.pe"
    register(
        "pe",
        "t5",
        f"{here}.t5:T5",
        summary="a learned bias for each bucket of offsets, which widen with distance",
        source="Raffel et al. 2020, section 2.1, https://arxiv.org/abs/1910.10683",
        capabilities=("bias", "order", "directed"),
        parameters={"buckets": 32, "max_distance": 128, "bidirectional": True},
    )
    register(
        "pe",
        "shaw",
        f"{here}.shaw:Shaw",
        summary="queries compared with a learned vector for each clipped offset",
        source="Shaw et al. 2018, equation 4, https://arxiv.org/abs/1803.02155",
        capabilities=("content-bias", "order"),
        parameters={"reach": 16},
    )
    register(
        "pe",
        "kerple",
        f"{here}.kerple:Kerple",
        summary="scores lowered by a learned logarithm or power of distance",
        source="Chi et al. 2022, section 4, https://arxiv.org/abs/2205.09921",
        capabilities=("bias", "order"),
        parameters={"kernel": "log"},
    )
    register(
        "pe",
        "fire",
        f"{here}.fire:Fire",
        summary="a small network maps a distance, as a share of the text read so far, to a bias",
        source="Li et al. 2023, section 3, https://arxiv.org/abs/2310.04418",
        capabilities=("bias", "order", "absolute"),
        parameters={"width": 32, "c": 0.1, "threshold": 512.0},
    )
    register(
        "pe",
        "cope",
        f"{here}.cope:Cope",
        summary="positions counted by content: each query decides which tokens count",
        source="Golovneva et al. 2024, section 4, https://arxiv.org/abs/2405.18719",
        capabilities=("content-bias", "order"),
        parameters={"positions": 64},
    )
    register(
        "pe",
        "rope-partial",
        f"{here}.rope_partial:PartialRotary",
        summary="a rotary encoding of the first quarter of every head",
        source="Black et al. 2022, section 2.1.1, https://arxiv.org/abs/2204.06745",
        capabilities=("rotate", "order"),
        parameters={"share": 0.25, "base": 10000.0},
    )
    register(
        "pe",
        "xpos",
        f"{here}.xpos:XPos",
        summary="a rotary encoding whose scores decay with distance (for causal models)",
        source="Sun et al. 2022, section 2.2, https://arxiv.org/abs/2212.10554",
        capabilities=("rotate", "order", "scaled"),
        parameters={"scale": 512.0, "base": 10000.0},
    )
    register(
        "pe",
        "rope-layers",
        f"{here}.rope_layers:LayeredRotary",
        summary="a rotary encoding whose base differs between layers",
        source="Warner et al. 2024, ModernBERT, section 2.1.2, https://arxiv.org/abs/2412.13663",
        capabilities=("rotate", "order"),
        parameters={"bases": (160000.0, 10000.0, 10000.0)},
    )
    register(
        "pe",
        "yarn",
        f"{here}.yarn:Yarn",
        summary="a rotary encoding stretched to a longer context than it was made for",
        source="Peng et al. 2023, definitions 2 and 3, https://arxiv.org/abs/2309.00071",
        capabilities=("rotate", "order", "scaled"),
        parameters={"factor": 16.0, "length": None, "alpha": 1.0, "beta": 32.0, "base": 10000.0},
    )
    register(
        "pe",
        "rope-random",
        f"{here}.rope_random:RandomRotary",
        summary="a rotary encoding of positions drawn at random from a longer range",
        source="Ruoss et al. 2023, section 3, https://arxiv.org/abs/2305.16843",
        capabilities=("rotate", "order", "random"),
        parameters={"simulated": 2048, "length": None, "base": 10000.0},
    )
    register(
        "pe",
        "alibi-signed",
        f"{here}.alibi_signed:SignedAlibi",
        summary="scores changed in proportion to the signed offset: later tokens favoured",
        source="Press et al. 2022, section 3, https://arxiv.org/abs/2108.12409",
        capabilities=("bias", "order", "directed"),
    )
    register(
        "pe",
        "alibi-two-sided",
        f"{here}.alibi_two_sided:TwoSidedAlibi",
        summary="scores lowered by distance, with learned slopes for each side",
        source="Lee et al. 2022, LittleBird, https://arxiv.org/abs/2210.11870",
        capabilities=("bias", "order", "directed"),
    )
