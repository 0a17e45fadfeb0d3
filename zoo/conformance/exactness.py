"""Exact attention against the reference, and attention weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.projections import CanonicalWeights
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, has_shape, largest, likely, must
from zoo.conformance.attention import AttentionSetup
from zoo.conformance.check import check
from zoo.conformance.reference import ReferenceEncoding, attention, hidden
from zoo.conformance.setup import DIM, HEADS, normal, padded_tokens

TEXTS = 2
LENGTHS, HUNDREDS = (5, 7), (140, 300)  # of x and of a context
# Widths and heads, with the lengths and the factors of the input that are tried.
SIZES = (
    (DIM, HEADS, LENGTHS, (1.0,)),
    (24, 3, LENGTHS, (1.0, 30.0)),
    (12, 1, HUNDREDS, (1.0, 30.0)),
    (40, 5, LENGTHS, (1.0, 30.0)),
)


def _calls(
    setup: AttentionSetup, heads: int, lengths: tuple[int, int] = LENGTHS
) -> Iterator[tuple[str, Tensor, LayerContext]]:
    """Plain, each declared slot by itself, and all of them at once: a name, x and its layer."""
    able = {c for c in ("rotate", "bias", "padding", "causal", "cross") if setup.can(c)}
    ways = {"plain": set(), **{c: {c} for c in sorted(able)}, "all slots": able - {"cross"}}
    if "cross" in able:
        ways["all slots, cross"] = able
    for name, uses in ways.items():
        x = setup.normal(TEXTS, lengths[0], setup.dim).requires_grad_()
        layer = LayerContext(
            _tokens(lengths[0], padded="padding" in uses),
            ReferenceEncoding("rotate" in uses, "bias" in uses, heads=heads),
            causal="causal" in uses or setup.can("causal-only"),
        )
        if "cross" in uses:
            context = setup.normal(TEXTS, lengths[1], setup.dim, seed=1).requires_grad_()
            keys = _tokens(lengths[1], padded="padding" in uses)
            layer = replace(layer, context=context, context_tokens=keys)
        yield name, x, layer


def _tokens(length: int, *, padded: bool) -> Tokens:
    """Of a whole text, and one that is padded if asked for."""
    return padded_tokens(length, slice(TEXTS)) if padded else Tokens.whole(length)


@check("attention", needs="exact")
def exact(setup: AttentionSetup) -> None:
    """Output and gradients of inputs are softmax(QKᵀ/√d)V's in float64, in every declared slot."""
    # Gradients of parameters, whose layouts differ, are left to the check gradcheck.
    for dim, heads, lengths, scales in SIZES:
        sized = setup.at(dim, heads)
        try:
            module = sized.build()
        except ValueError:
            if heads == HEADS:
                raise
            continue  # a number of heads that it refuses
        weights = _weights(sized)
        must(hasattr(module, "load_canonical"), "an exact attention needs load_canonical(weights)")
        module.load_canonical(weights)
        for name, x, layer in _calls(sized, module.heads, lengths):
            for scale in scales:
                larger = (scale * x.detach()).requires_grad_()
                what = f"{name}, width {dim}, {heads} heads, lengths {lengths}"
                out = module(larger, layer)
                expected, _ = attention(weights, module.heads, larger, layer)
                with likely(partial(setup.fault, module)):
                    close(out, expected, f"{what}, {scale:g} times the input: output")
                direction = torch.randn(out.shape, dtype=out.dtype)
                inputs = [one for one in (larger, layer.context) if one is not None]
                theirs, ours = (torch.autograd.grad(o, inputs, direction) for o in (out, expected))
                for given, their, our in zip(("x", "context"), theirs, ours, strict=False):
                    if scale == 1:  # of large scores gradients lose too many digits
                        close(their, our, f"{what}: gradient of {given}")


@check("attention", needs="map")
def attention_map(setup: AttentionSetup) -> None:
    """The map is what mixes the values; hidden keys have none of it; it is exact if declared."""
    module = setup.build()
    must(hasattr(module, "weights"), "an attention with a map needs weights(x, layer)")
    weights = _weights(setup)
    if setup.can("exact"):
        module.load_canonical(weights)
    for name, x, layer in _calls(setup, module.heads):
        shown, unseen = module.weights(x, layer), hidden(layer)
        has_shape(shown, (TEXTS, module.heads, *unseen.shape[2:]), f"{name}: map")
        real = layer.tokens.attention_mask  # rows of padding may be anything
        counted = unseen if real is None else unseen & real[:, None, :, None]
        stray = largest(shown.masked_fill(~counted, 0))
        must(stray == 0, f"{name}: a hidden key has a weight of {stray:.3g}")
        if setup.can("exact"):
            close(shown, attention(weights, module.heads, x, layer)[1], f"{name}: map")
        if isinstance(module, ProjectedAttention):
            for mixed, values in _mixed(module, x, layer):
                what = f"{name}: the map's weight of a value, and what the value adds"
                sizes = shown.detach().abs() * values.norm(dim=-1)[..., None, :]
                kept = torch.ones(TEXTS, sizes.shape[2], dtype=torch.bool) if real is None else real
                close(
                    mixed.transpose(1, 2)[kept], sizes.transpose(1, 2)[kept], what, tolerance=1e-6
                )


def _mixed(
    module: ProjectedAttention, x: Tensor, layer: LayerContext
) -> list[tuple[Tensor, Tensor]]:
    """How much each value adds to each output (B, H, Lq, Lk), and the values (B, H, Lk, Dv).

    By the norm, because a variant may rotate values on their way. One pair for each call of
    ``mix``: none where a variant's own ``forward`` does not use it.
    """
    mix: Callable[..., Tensor] = module.mix
    seen: list[tuple[Tensor, Tensor]] = []

    def value_by_value(q: Tensor, k: Tensor, v: Tensor, layer: LayerContext) -> Tensor:
        def once(v: Tensor) -> Tensor:
            """What it gives for these values; what it leaves for later layers is dropped."""
            return mix(q, k, v, replace(layer, shared=dict(layer.shared)))

        none = once(torch.zeros_like(v))
        added = []
        for key in range(v.shape[2]):
            one = torch.zeros_like(v)
            one[:, :, key] = v[:, :, key]
            added.append((once(one) - none).norm(dim=-1))
        seen.append((torch.stack(added, dim=-1), v))
        return mix(q, k, v, layer)

    module.mix = value_by_value  # type: ignore[method-assign]
    try:
        module(x, layer)
    finally:
        del module.mix
    return seen


def _weights(setup: AttentionSetup) -> CanonicalWeights:
    """Random weights and biases: a bias of zero would hide an error in its use."""
    generator = setup.generator(3)
    shapes = [(setup.dim, setup.dim)] * 4 + [(setup.dim,)] * 4
    return CanonicalWeights(*(normal(generator, *shape) for shape in shapes))
