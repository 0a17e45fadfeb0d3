"""Ten ways of breaking any torch module, whatever it computes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from zoo.registry import Choice

Forward = Callable[..., Any]


def _without_mask(given: Any) -> Any:
    if hasattr(given, "attention_mask"):
        return replace(given, attention_mask=None)
    if hasattr(given, "tokens"):
        context = None if given.context_tokens is None else _without_mask(given.context_tokens)
        return replace(given, tokens=_without_mask(given.tokens), context_tokens=context)
    return None if given is None or given.dtype == torch.bool else given


def constant(forward: Forward) -> Forward:
    return lambda *args: 0 * forward(*args) + 0.5


def detached(forward: Forward) -> Forward:
    return lambda *args: forward(*args).detach()


def wrong_axis(forward: Forward) -> Forward:
    def changed(*args: Any) -> Tensor:
        out = forward(*args)
        return out + out.mean(dim=0, keepdim=True)

    return changed


def dropped_mask(forward: Forward) -> Forward:
    return lambda x, *rest: forward(x, *map(_without_mask, rest))


def swapped_tokens(forward: Forward) -> Forward:
    return lambda x, *rest: forward(x.roll(1, dims=-2 if x.is_floating_point() else -1), *rest)


def kept_state(forward: Forward) -> Forward:
    kept = [0.0]

    def changed(*args: Any) -> Tensor:
        out = forward(*args)
        before, kept[0] = kept[0], float(out.detach().mean()) if not out.is_meta else 0.0
        return out + 0.1 * before

    return changed


def never_causal(forward: Forward) -> Forward:
    def changed(x: Tensor, *rest: Any) -> Tensor:
        layers = [replace(a, causal=False) if hasattr(a, "causal") else a for a in rest]
        return forward(x, *layers)

    return changed


def rounded(forward: Forward) -> Forward:
    def changed(*args: Any) -> Tensor:
        out = forward(*args)
        return out.bfloat16().to(out.dtype)

    return changed


def in_place(forward: Forward) -> Forward:
    def changed(x: Tensor, *rest: Any) -> Tensor:
        with torch.no_grad():
            x.add_(1)
        return forward(x, *rest)

    return changed


def by_length(forward: Forward) -> Forward:
    def changed(x: Tensor, *rest: Any) -> Tensor:
        return forward(x, *rest) * (1 + 1e-3 * x.shape[-2])

    return changed


WAYS = (
    constant,
    detached,
    wrong_axis,
    dropped_mask,
    swapped_tokens,
    kept_state,
    never_causal,
    rounded,
    in_place,
    by_length,
)
SLOTS = ("embed", "rotate", "bias")


def mutant(choice: Choice, way: Callable[[Forward], Forward]) -> Choice:
    """The choice, whose modules are broken in this way; an encoding in every slot that acts."""
    factory = choice.component.resolve()

    @functools.wraps(factory)
    def build(*args: Any, **kwargs: Any) -> Any:
        made = factory(*args, **kwargs)
        if isinstance(made, nn.Module):
            slots = SLOTS if choice.component.kind == "pe" else ("forward",)
            for slot in slots:
                if slot == "forward" or choice.can(slot):
                    setattr(made, slot, way(getattr(made, slot)))
        return made

    return replace(choice, component=replace(choice.component, factory=build))
