"""Exact attention against the reference, and attention weights."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from zoo.components.attention.base import Attention
from zoo.components.attention.projections import CanonicalWeights
from zoo.components.tokens import Tokens
from zoo.conformance import reference
from zoo.conformance.assertions import close, largest, must
from zoo.conformance.check import check, needs
from zoo.conformance.reference_parts import ReferenceEncoding
from zoo.conformance.setups.attention_setup import AttentionSetup, attend
from zoo.conformance.setups.setup import DIM, normal

TEXTS, QUERIES, KEYS = 2, 5, 7


@dataclass(frozen=True)
class Situation:
    """One way of calling exact attention."""

    name: str
    rotates: bool = False
    biases: bool = False
    padded: bool = False
    causal: bool = False
    cross: bool = False


@check("attention", applies=needs("exact"))
def exact(setup: AttentionSetup) -> None:
    """Output and gradients are those of softmax(QKᵀ/√d)V in float64, in every declared slot."""
    module = setup.build()
    must(hasattr(module, "load_canonical"), "an exact attention needs load_canonical(weights)")
    weights = _weights(setup)
    module.load_canonical(weights)
    loaded = _parameters(module)
    for situation in situations(setup):
        x, context = _inputs(setup, situation)
        out = _ask(module, situation, x, context)
        expected, _ = _reference(module, weights, situation, x, context)
        close(out, expected, f"{situation.name}: output")

        direction = torch.randn(out.shape, dtype=out.dtype)
        inputs = [x] if context is None else [x, context]
        names = [field.name for field in fields(weights)]
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
            rise = sum((g * m).sum() for g, m in zip(theirs[len(inputs) :], moved, strict=True))
            assert isinstance(rise, Tensor)
            close(rise, (our * step).sum(), f"{situation.name}: gradient along {name}")


@check("attention", applies=needs("map"))
def attention_map(setup: AttentionSetup) -> None:
    """The map is (B, H, Lq, Lk), gives nothing to hidden keys, and is the softmax where exact."""
    module = setup.build()
    must(hasattr(module, "weights"), "an attention with a map needs weights(x, ...)")
    weights = _weights(setup)
    if setup.can("exact"):
        module.load_canonical(weights)
    for situation in situations(setup):
        x, context = _inputs(setup, situation)
        tokens, keys = _tokens(situation)
        shown = module.weights(
            x,
            context,
            tokens=tokens,
            context_tokens=keys if situation.cross else None,
            position=_encoding(module, situation),
            causal=situation.causal,
        )
        shape = (TEXTS, module.heads, QUERIES, KEYS if situation.cross else QUERIES)
        must(tuple(shown.shape) == shape, f"{situation.name}: map of shape {tuple(shown.shape)}")
        expected, hidden = _reference(module, weights, situation, x, context)[1], _hidden(situation)
        stray = largest(shown.masked_fill(~hidden, 0))
        must(stray == 0, f"{situation.name}: a hidden key has a weight of {stray:.3g}")
        if setup.can("exact"):
            close(shown, expected, f"{situation.name}: map")


def situations(setup: AttentionSetup) -> list[Situation]:
    """Plain, each declared slot by itself, and all of them at once."""
    kinds = {"rotates": "rotate", "biases": "bias", "padded": "padding"}
    kinds |= {"causal": "causal", "cross": "cross"}
    able = [name for name, capability in kinds.items() if setup.can(capability)]
    alone = [Situation(name, **{name: True}) for name in able]
    within = [name for name in able if name != "cross"]
    together = [Situation("all slots", **dict.fromkeys(within, True))]
    if "cross" in able:
        together.append(Situation("all slots, cross", **dict.fromkeys(able, True)))
    return [Situation("plain"), *alone, *together]


def _weights(setup: AttentionSetup) -> CanonicalWeights:
    """Random weights and biases: a bias of zero would hide an error in its use."""
    generator = setup.generator(3)
    square = [normal(generator, DIM, DIM).requires_grad_() for _ in range(4)]
    return CanonicalWeights(*square, *(normal(generator, DIM).requires_grad_() for _ in range(4)))


def _parameters(module: Attention) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


def _inputs(setup: AttentionSetup, situation: Situation) -> tuple[Tensor, Tensor | None]:
    x = normal(setup.generator(0), TEXTS, QUERIES, DIM).requires_grad_()
    context = normal(setup.generator(1), TEXTS, KEYS, DIM).requires_grad_()
    return x, context if situation.cross else None


def _tokens(situation: Situation) -> tuple[Tokens, Tokens]:
    """Those of queries and of keys; if padded, the second text has only two real tokens."""

    def tokens(length: int) -> Tokens:
        real = torch.arange(length) < torch.tensor([[length], [2]])
        return Tokens(real if situation.padded else None, torch.arange(length))

    return tokens(QUERIES), tokens(KEYS if situation.cross else QUERIES)


def _encoding(module: Attention, situation: Situation) -> ReferenceEncoding:
    return ReferenceEncoding(rotates=situation.rotates, biases=situation.biases, heads=module.heads)


def _ask(module: Attention, situation: Situation, x: Tensor, context: Tensor | None) -> Tensor:
    tokens, keys = _tokens(situation)
    position = _encoding(module, situation)
    context_tokens = keys if situation.cross else None
    return attend(
        module, x, tokens, context, context_tokens, position=position, causal=situation.causal
    )


def _hidden(situation: Situation) -> Tensor:
    """Which keys each query may not see: bool (B, 1, Lq, Lk)."""
    tokens, keys = _tokens(situation)
    hidden = torch.zeros(TEXTS, 1, QUERIES, len(keys.positions), dtype=torch.bool)
    if keys.attention_mask is not None:
        hidden = hidden | ~keys.attention_mask[:, None, None, :]
    if situation.causal:
        hidden = hidden | (keys.positions > tokens.positions[:, None])
    return hidden


def _reference(
    module: Attention,
    weights: CanonicalWeights,
    situation: Situation,
    x: Tensor,
    context: Tensor | None,
) -> tuple[Tensor, Tensor]:
    tokens, keys = _tokens(situation)
    hidden = _hidden(situation)
    return reference.attention(
        weights,
        module.heads,
        x,
        x if context is None else context,
        visible=lambda text, query, key: not bool(hidden[text, 0, query, key]),
        q_positions=tokens.positions.tolist(),
        k_positions=keys.positions.tolist(),
        rotate=reference.rotation if situation.rotates else None,
        bias=reference.score_bias if situation.biases else None,
    )
