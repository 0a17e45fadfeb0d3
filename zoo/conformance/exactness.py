"""Exact attention against the reference, and attention weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from zoo.components.attention.base import Attention
from zoo.components.attention.projections import CanonicalWeights
from zoo.components.tokens import Tokens
from zoo.conformance import reference
from zoo.conformance.assertions import close, has_shape, largest, must
from zoo.conformance.attention import AttentionSetup
from zoo.conformance.check import check, needs
from zoo.conformance.setup import DIM, normal

TEXTS, QUERIES, KEYS = 2, 5, 7


@dataclass(frozen=True)
class Situation:
    """One way of calling exact attention; each flag is a capability, used or not."""

    name: str
    rotate: bool = False
    bias: bool = False
    padding: bool = False
    causal: bool = False
    cross: bool = False

    def tokens(self, length: int) -> Tokens:
        """Positions, and if padded a mask: the second text has only two real tokens."""
        real = torch.arange(length) < torch.tensor([[length], [2]])
        return Tokens(real if self.padding else None, torch.arange(length))

    @property
    def queries(self) -> Tokens:
        return self.tokens(QUERIES)

    @property
    def keys(self) -> Tokens:
        return self.tokens(KEYS if self.cross else QUERIES)

    def call(
        self, function: Callable[..., Tensor], heads: int, x: Tensor, context: Tensor | None
    ) -> Tensor:
        """Call an attention, or its ``weights``."""
        return function(
            x,
            context,
            tokens=self.queries,
            context_tokens=self.keys if self.cross else None,
            position=reference.ReferenceEncoding(self.rotate, self.bias, heads=heads),
            causal=self.causal,
        )

    def hidden(self) -> Tensor:
        """Which keys each query may not see: bool (B, 1, Lq, Lk)."""
        queries, keys = self.queries, self.keys
        hidden = torch.zeros(TEXTS, 1, QUERIES, len(keys.positions), dtype=torch.bool)
        if keys.attention_mask is not None:
            hidden = hidden | ~keys.attention_mask[:, None, None, :]
        if self.causal:
            hidden = hidden | (keys.positions > queries.positions[:, None])
        return hidden

    def expected(
        self, module: Attention, weights: CanonicalWeights, x: Tensor, context: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The reference's output and attention map."""
        hidden = self.hidden()
        return reference.attention(
            weights,
            module.heads,
            x,
            x if context is None else context,
            visible=lambda text, query, key: not bool(hidden[text, 0, query, key]),
            q_positions=self.queries.positions.tolist(),
            k_positions=self.keys.positions.tolist(),
            rotate=reference.rotation if self.rotate else None,
            bias=reference.score_bias if self.bias else None,
        )


@check("attention", applies=needs("exact"))
def exact(setup: AttentionSetup) -> None:
    """Output and gradients are those of softmax(QKᵀ/√d)V in float64, in every declared slot."""
    module = setup.build()
    must(hasattr(module, "load_canonical"), "an exact attention needs load_canonical(weights)")
    weights = _weights(setup)
    module.load_canonical(weights)
    loaded = _parameters(module)
    names = [field.name for field in fields(weights)]
    for situation in _situations(setup):
        x, context = _inputs(setup, situation)
        out = situation.call(module, module.heads, x, context)
        expected, _ = situation.expected(module, weights, x, context)
        close(out, expected, f"{situation.name}: output")

        direction = torch.randn(out.shape, dtype=out.dtype)
        inputs = [x] if context is None else [x, context]
        leaves = [getattr(weights, name) for name in names]
        theirs = torch.autograd.grad(
            (out * direction).sum(), [*inputs, *module.parameters()], materialize_grads=True
        )
        ours = torch.autograd.grad((expected * direction).sum(), [*inputs, *leaves])
        for name, their, our in zip(("x", "context"), theirs, ours[: len(inputs)], strict=False):
            close(their, our, f"{situation.name}: gradient of {name}")
        # Layouts of weights differ, but loading is linear: a step of one canonical weight is a step
        # of the module's parameters, and the output must change by the same amount along both.
        for name, our in zip(names, ours[len(inputs) :], strict=True):
            step = torch.randn_like(our)
            with torch.no_grad():
                module.load_canonical(replace(weights, **{name: getattr(weights, name) + step}))
                moved = [now - then for now, then in zip(_parameters(module), loaded, strict=True)]
                module.load_canonical(weights)
            steps = zip(theirs[len(inputs) :], moved, strict=True)
            rise = torch.stack([(g * m).sum() for g, m in steps]).sum()
            close(rise, (our * step).sum(), f"{situation.name}: gradient along {name}")


@check("attention", applies=needs("map"))
def attention_map(setup: AttentionSetup) -> None:
    """The map is (B, H, Lq, Lk), gives nothing to hidden keys, and is the softmax where exact."""
    module = setup.build()
    must(hasattr(module, "weights"), "an attention with a map needs weights(x, ...)")
    weights = _weights(setup)
    if setup.can("exact"):
        module.load_canonical(weights)
    for situation in _situations(setup):
        x, context = _inputs(setup, situation)
        shown = situation.call(module.weights, module.heads, x, context)
        shape = (TEXTS, module.heads, QUERIES, KEYS if situation.cross else QUERIES)
        has_shape(shown, shape, f"{situation.name}: map")
        stray = largest(shown.masked_fill(~situation.hidden(), 0))
        must(stray == 0, f"{situation.name}: a hidden key has a weight of {stray:.3g}")
        if setup.can("exact"):
            expected = situation.expected(module, weights, x, context)[1]
            close(shown, expected, f"{situation.name}: map")


def _situations(setup: AttentionSetup) -> list[Situation]:
    """Plain, each declared slot by itself, and all of them at once."""
    able = [c for c in ("rotate", "bias", "padding", "causal", "cross") if setup.can(c)]
    everything = Situation("all slots", **dict.fromkeys(able, True))
    found = [Situation("plain"), *(Situation(name, **{name: True}) for name in able)]
    if "cross" in able:
        found.append(replace(everything, name="all slots, cross"))
    return [*found, replace(everything, cross=False)]


def _weights(setup: AttentionSetup) -> CanonicalWeights:
    """Random weights and biases: a bias of zero would hide an error in its use."""
    generator = setup.generator(3)
    shapes = [(DIM, DIM)] * 4 + [(DIM,)] * 4
    return CanonicalWeights(*(normal(generator, *shape).requires_grad_() for shape in shapes))


def _parameters(module: Attention) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


def _inputs(setup: AttentionSetup, situation: Situation) -> tuple[Tensor, Tensor | None]:
    x = setup.normal(TEXTS, QUERIES, DIM).requires_grad_()
    context = setup.normal(TEXTS, KEYS, DIM, seed=1).requires_grad_()
    return x, context if situation.cross else None
