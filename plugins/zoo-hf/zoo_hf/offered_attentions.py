"""The zoo's attentions as attention implementations of Transformers' own models.

A model there projects, splits into heads and rotates by itself; the zoo's attention does what is
between: from queries, keys and values to the outputs of the heads. So an attention is offered where
it does nothing else. One that projects in its own way, changes its output or has weights of its own
would not be itself there, and is not offered.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface

from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.projections import (
    PackedProjection,
    PerHeadProjection,
    SeparateProjection,
)
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pe.rope import Rotary
from zoo.components.tokens import Tokens
from zoo.errors import ZooError, one_line
from zoo.models.seeding import seeded
from zoo.registry import Choice
from zoo_hf.attention_functions import (
    AttentionFunctions,
    build_attention,
    mixed,
)
from zoo_hf.plugin_files import components, load_components

NAME_PREFIX = "zoo_"
# Transformers takes a name with one of these for an implementation of its own, or of its Hub.
TAKEN = ("flash", "sdpa", "flex_attention", "/", "|")
REFUSED = {
    "causal-only": "it attends only to the past",
    "fixed-length": "it is built for a maximum length",
    "one-head": "it has a single head, whatever the number of heads",
}


@dataclass(frozen=True)
class OfferedAttention:
    """An attention of the zoo, and what it is to Transformers.

    implementation: the value of ``attn_implementation``; empty where it is not offered, for this
    reason. any_mask: it takes sliding windows, causal and other masks, and not padding alone.
    """

    attention: str
    implementation: str = ""
    any_mask: bool = False
    reason: str = ""


def offer_all() -> list[OfferedAttention]:
    """Offer every registered attention that can be, with its default parameters.

    Returns all of them, also those that are not offered.
    """
    return [_offer(choice) for choice in components().choices("attention", "all")]


def offer(attention: str) -> str:
    """Offer one attention, which may have parameters: ``top-k(keys=4)``.

    Returns the value of ``attn_implementation``. Raises ZooError where it cannot be offered.
    """
    offered = _offer(components().choose("attention", attention))
    if offered.reason:
        can = ", ".join(other.implementation for other in offer_all() if other.implementation)
        raise ZooError(
            f"attention '{attention}' cannot be used in Transformers: {offered.reason}; these can: "
            f"{can}. zoo_hf.offer_all() says why not of each other one"
        )
    return offered.implementation


def offering(check: Callable[..., str]) -> Callable[..., str]:
    """A model's check of ``attn_implementation``, which offers an attention of the zoo before.

    So one with parameters needs no ``offer``, and what cannot be offered is refused with the reason
    where the model is made.
    """

    @functools.wraps(check)
    def checked(model: Any, requested: str | None, *rest: Any, **options: Any) -> str:
        if (
            requested
            and requested.startswith(NAME_PREFIX)
            and requested not in AttentionInterface()
        ):
            offer(requested.removeprefix(NAME_PREFIX))
        return check(model, requested, *rest, **options)

    return checked


def use_plugins(*files: str | Path) -> list[OfferedAttention]:
    """Load single-file plug-ins, for models that are loaded later, and offer their attentions.

    They take the place of those of an earlier call. Returns what ``offer_all`` does.
    """
    load_components(*files)
    return offer_all()


def _offer(choice: Choice) -> OfferedAttention:
    name = str(choice)
    if reason := _why_not(choice):
        return OfferedAttention(name, reason=reason)
    attention = AttentionFunctions(choice)
    implementation = NAME_PREFIX + name
    AttentionInterface.register(implementation, attention.forward)
    # Under the same name: a model is given no mask at all where its attention has no entry here.
    AttentionMaskInterface.register(implementation, attention.make_mask)
    return OfferedAttention(name, implementation, attention.any_mask)


def _why_not(choice: Choice) -> str:
    """Why an attention is not offered; empty where it is."""
    if not choice.can("padding"):
        return "it does not declare 'padding'"
    if reasons := [reason for capability, reason in REFUSED.items() if choice.can(capability)]:
        return reasons[0]
    if words := [word for word in TAKEN if word in str(choice)]:
        return f"Transformers has another meaning for '{words[0]}' in a name"
    try:
        attention = build_attention(choice, 2, 16)
        if not isinstance(attention, ProjectedAttention):
            return "it is no ProjectedAttention, whose 'mix' can be called by itself"
        if any(map(choice.takes, ("layer_index", "layer_count"))):
            return "it differs from layer to layer"
        if type(attention.project) not in (PackedProjection, PerHeadProjection, SeparateProjection):
            return "it projects queries, keys or values in its own way"
        inside = (*attention.named_parameters(), *attention.named_buffers())
        own = [name for name, _ in inside if name.split(".")[0] not in ("project", "out")]
        if own:
            return f"it has weights or tables of its own, such as '{own[0]}'"
        first, second = _is_its_mixing(attention.eval(), rotate=choice.can("rotate"))
        if not first:
            return "it does more than its 'mix': before it, around it or after it"
        if not second:
            return "it differs from layer to layer"
    except Exception as error:  # noqa: BLE001 - of a plug-in
        return f"it failed on a small input: {one_line(error)}"
    return ""


@torch.no_grad()
def _is_its_mixing(attention: ProjectedAttention, *, rotate: bool) -> list[bool]:
    """Whether projections, a rotation and ``mixed`` give what the whole attention gives.

    For two layers, one after the other.
    """
    with seeded(0, "input"):
        x = torch.randn(2, 6, 16)
    mask = torch.arange(6) < torch.tensor([[6], [4]])
    tokens = Tokens(mask, torch.arange(6), in_order=True)
    encoding = Rotary if rotate else PositionalEncoding
    position = encoding(dim=16, heads=2, head_dim=8, max_length=6)
    q, k, v = attention.project(x, x)
    q, k = position.rotate(q, tokens.positions), position.rotate(k, tokens.positions)
    heads = mixed(attention, q, k, v, mask)
    ours = attention.out(heads.transpose(1, 2).flatten(2))[mask]
    layer = LayerContext(tokens, position, count=2)
    outs = [attention(x, replace(layer, index=index))[mask] for index in range(2)]
    return [torch.allclose(ours, out, atol=1e-5) for out in outs]
