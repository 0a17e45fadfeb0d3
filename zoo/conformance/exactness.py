"""Exact attention against the reference, and attention weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from zoo.components.attention.base import ProjectedAttention
from zoo.components.attention.projections import CanonicalWeights
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, has_shape, largest, must
from zoo.conformance.attention import AttentionSetup
from zoo.conformance.check import check
from zoo.conformance.reference import ReferenceEncoding, attention
from zoo.conformance.setup import normal

TEXTS, QUERIES, KEYS = 2, 5, 7
LONG = (140, 300)


@dataclass(frozen=True)
class Situation:
    """One way of calling exact attention. context: None for x itself."""

    name: str
    x: Tensor
    context: Tensor | None
    queries: Tokens
    keys: Tokens
    position: ReferenceEncoding
    causal: bool

    def call(self, function: Callable[..., Tensor]) -> Tensor:
        """Call an attention, or its ``weights``."""
        layer = LayerContext(
            self.queries,
            self.position,
            causal=self.causal,
            context=self.context,
            context_tokens=None if self.context is None else self.keys,
        )
        return function(self.x, layer)

    def hidden(self) -> Tensor:
        """Which keys each query may not see: bool (B, 1, Lq, Lk)."""
        queries, keys = len(self.queries.positions), len(self.keys.positions)
        hidden = torch.zeros(TEXTS, 1, queries, keys, dtype=torch.bool)
        if self.keys.attention_mask is not None:
            hidden = hidden | ~self.keys.attention_mask[:, None, None, :]
        if self.causal:
            hidden = hidden | (self.keys.positions > self.queries.positions[:, None])
        return hidden

    def expected(self, weights: CanonicalWeights) -> tuple[Tensor, Tensor]:
        """The reference's output and attention map."""
        return attention(
            weights,
            self.position.heads,
            self.x,
            self.x if self.context is None else self.context,
            hidden=self.hidden(),
            q_positions=self.queries.positions,
            k_positions=self.keys.positions,
            position=self.position,
        )


def _situations(
    setup: AttentionSetup, heads: int, lengths: tuple[int, int] = (QUERIES, KEYS)
) -> Iterator[Situation]:
    """Plain, each declared slot by itself, and all of them at once; lengths: of x and context."""
    able = {c for c in ("rotate", "bias", "padding", "causal", "cross") if setup.can(c)}
    ways = {"plain": set(), **{c: {c} for c in sorted(able)}, "all slots": able - {"cross"}}
    if "cross" in able:
        ways["all slots, cross"] = able
    for name, uses in ways.items():
        x = setup.normal(TEXTS, lengths[0], setup.dim).requires_grad_()
        context, queries = None, _tokens(lengths[0], "padding" in uses)
        keys = queries
        if "cross" in uses:
            context = setup.normal(TEXTS, lengths[1], setup.dim, seed=1).requires_grad_()
            keys = _tokens(lengths[1], "padding" in uses)
        causal = "causal" in uses or setup.can("causal-only")
        position = ReferenceEncoding("rotate" in uses, "bias" in uses, heads=heads)
        yield Situation(name, x, context, queries, keys, position, causal)


def _tokens(length: int, padded: bool) -> Tokens:
    """Positions, and if padded a mask: the second text has only two real tokens."""
    real = torch.arange(length) < torch.tensor([[length], [2]])
    return Tokens(real if padded else None, torch.arange(length))


@check("attention", needs="exact")
def exact(setup: AttentionSetup) -> None:
    """Output and gradients of inputs are softmax(QKᵀ/√d)V's in float64, in every declared slot."""
    # Gradients of parameters, whose layouts differ, are left to the check gradcheck.
    module, weights = setup.build(), _weights(setup)
    must(hasattr(module, "load_canonical"), "an exact attention needs load_canonical(weights)")
    module.load_canonical(weights)
    for situation in _situations(setup, module.heads):
        out, (expected, _) = situation.call(module), situation.expected(weights)
        close(out, expected, f"{situation.name}: output")
        direction = torch.randn(out.shape, dtype=out.dtype)
        inputs = [x for x in (situation.x, situation.context) if x is not None]
        theirs, ours = (torch.autograd.grad(o, inputs, direction) for o in (out, expected))
        for name, their, our in zip(("x", "context"), theirs, ours, strict=False):
            close(their, our, f"{situation.name}: gradient of {name}")


@check("attention", needs="exact")
def exact_sizes(setup: AttentionSetup) -> None:
    """It is exact with other widths and heads, for hundreds of keys, and for large scores."""
    for dim, heads in ((24, 3), (12, 1), (40, 5)):
        other, lengths = setup.at(dim, heads), LONG if heads == 1 else (QUERIES, KEYS)
        try:
            module = other.build()
        except ValueError:
            continue  # a number of heads that it refuses
        weights = _weights(other)
        module.load_canonical(weights)
        for situation in _situations(other, module.heads, lengths):
            if situation.name != "plain" and "all" not in situation.name:
                continue
            for scale in (1.0, 30.0):
                larger = replace(situation, x=scale * situation.x.detach())
                what = f"{situation.name}, width {dim}, {heads} heads, lengths {lengths}"
                out, (expected, _) = larger.call(module), larger.expected(weights)
                close(out, expected, f"{what}, {scale:g} times the input: output")


@check("attention", needs="map")
def attention_map(setup: AttentionSetup) -> None:
    """The map is what mixes the values; hidden keys have none of it; it is exact if declared."""
    module = setup.build()
    must(hasattr(module, "weights"), "an attention with a map needs weights(x, ...)")
    weights = _weights(setup)
    if setup.can("exact"):
        module.load_canonical(weights)
    for situation in _situations(setup, module.heads):
        shown, hidden = situation.call(module.weights), situation.hidden()
        has_shape(shown, (TEXTS, module.heads, *hidden.shape[2:]), f"{situation.name}: map")
        real = situation.queries.attention_mask  # rows of padding may be anything
        counted = hidden if real is None else hidden & real[:, None, :, None]
        stray = largest(shown.masked_fill(~counted, 0))
        must(stray == 0, f"{situation.name}: a hidden key has a weight of {stray:.3g}")
        if setup.can("exact"):
            close(shown, situation.expected(weights)[1], f"{situation.name}: map")
        if isinstance(module, ProjectedAttention):
            for mixed, values in _mixed(module, situation):
                what = f"{situation.name}: the map's weight of a value, and what the value adds"
                sizes = shown.detach().abs() * values.norm(dim=-1)[..., None, :]
                kept = torch.ones(TEXTS, sizes.shape[2], dtype=torch.bool) if real is None else real
                close(
                    mixed.transpose(1, 2)[kept], sizes.transpose(1, 2)[kept], what, tolerance=1e-6
                )


def _mixed(module: ProjectedAttention, situation: Situation) -> list[tuple[Tensor, Tensor]]:
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
        situation.call(module)
    finally:
        del module.mix
    return seen


def _weights(setup: AttentionSetup) -> CanonicalWeights:
    """Random weights and biases: a bias of zero would hide an error in its use."""
    generator = setup.generator(3)
    shapes = [(setup.dim, setup.dim)] * 4 + [(setup.dim,)] * 4
    return CanonicalWeights(*(normal(generator, *shape) for shape in shapes))
