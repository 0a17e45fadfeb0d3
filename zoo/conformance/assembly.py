"""A component in a whole model, and whether planning allows the model."""

from __future__ import annotations

import torch

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.conformance.assertions import finite, has_shape, must
from zoo.conformance.check import CheckSkipped, check
from zoo.conformance.setup import DIM, HEADS, HIDDEN, ModuleSetup
from zoo.models.build import build_classifier
from zoo.registry import AXES, BUILT_IN, Choice, Owner, Register
from zoo.registry.cell import Cell

# The second finds components that work only with the numbers of the first, which all other checks
# use; its number of heads is no power of two.
SIZES = (
    Sizes(dim=DIM, layers=2, heads=HEADS, hidden=HIDDEN, max_length=12, vocab_size=50),
    Sizes(dim=36, layers=1, heads=3, hidden=60, max_length=12, vocab_size=50),
)
SLOTS = ("embed", "rotate", "bias")


@check(*AXES)
def assembles(setup: ModuleSetup) -> None:
    """Planning refuses what it does not declare; every model that planning allows trains."""
    kind, trained = setup.choice.component.kind, 0
    reasons = []
    for slot in SLOTS if kind == "attention" else SLOTS[:1]:
        cell = Cell(**{**plain_parts(slot), kind: setup.choice})
        reason = cell.obstacle(DIM, HEADS, {"attention": {"padding"}})
        if kind == "attention":
            able = slot == "embed" or setup.can(slot)
            must(able or bool(reason), f"planning allows an encoding that needs {slot!r}")
        if reason:
            reasons.append(reason)
            continue
        for sizes in SIZES:
            _train(cell, slot, sizes)
        trained += 1
    if not trained:
        raise CheckSkipped(f"planning allows no model with it: {reasons[0]}")


def _train(cell: Cell, slot: str, sizes: Sizes) -> None:
    """One step on texts of several lengths, an empty one among them."""
    model = build_classifier(cell, sizes, vocab_size=50, classes=3, seed=0, dropout=0.1)
    ids = torch.randint(50, (4, 12))
    real = torch.arange(12) < torch.tensor([12, 5, 1, 0])[:, None]
    logits = model(ids, Tokens(real, torch.arange(12)))
    has_shape(logits, (4, 3), "logits")
    finite(logits, f"logits of a model with an encoding that needs {slot!r}")
    torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2, 0])).backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            finite(parameter.grad, f"gradient of {name}")


def plain_parts(slot: str) -> dict[str, Choice]:
    """Plain built-in components of every axis, with an encoding that uses this slot."""
    encoding = {"embed": "sin:Sinusoidal", "rotate": "rope:Rotary", "bias": "alibi:Alibi"}[slot]
    everything = ("rotate", "bias", "padding", "causal", "cross", "cache", "exact")
    return {
        "attention": _built_in("attention", "naive:Naive", *everything),
        "pe": _built_in("pe", encoding, slot),
        "norm": _built_in("norm", "layer:LayerNorm"),
        "ffn": _built_in("ffn", "gelu:GELU"),
        "block": _built_in("block", "pre:Pre", "residual", "cross"),
        "pool": _built_in("pool", "mean:Mean"),
    }


def _built_in(kind: str, target: str, *capabilities: str) -> Choice:
    """A built-in component, even where a plug-in has registered its name."""
    name = target.partition(":")[0]
    register = Register(Owner(BUILT_IN, ""))
    factory = f"zoo.components.{kind}.{target}"
    register(kind, name, factory, summary="", capabilities=capabilities)
    return Choice(register.components[0], name)
