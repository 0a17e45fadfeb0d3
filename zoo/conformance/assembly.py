"""A component in a whole model, and what planning says of it."""

from __future__ import annotations

import torch

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.conformance.base import CheckSkipped, check
from zoo.conformance.compare import finite, must
from zoo.conformance.setups.base import DIM, HEADS, HIDDEN, ModuleRig
from zoo.models.build import build_classifier
from zoo.registry import AXES, Choice, Component, Owner
from zoo.registry.cell import Cell

# The second is for components that are wired to the numbers of the first, which the other checks
# have as well; and its heads are no power of two.
SIZES = (
    Sizes(dim=DIM, layers=2, heads=HEADS, hidden=HIDDEN, max_length=12, vocab_size=50),
    Sizes(dim=36, layers=1, heads=3, hidden=60, max_length=12, vocab_size=50),
)
SLOTS = ("embed", "rotate", "bias")


@check(*AXES)
def assembles(rig: ModuleRig) -> None:
    """Planning refuses what it does not declare; every model that planning lets pass trains."""
    kind, trained = rig.choice.component.kind, 0
    reasons = []
    for slot in SLOTS if kind == "attention" else SLOTS[:1]:
        cell = Cell(**{**stand_ins(slot), kind: rig.choice})
        reason = cell.obstacle(DIM, HEADS)
        if kind == "attention":
            able = slot == "embed" or rig.choice.can(slot)
            refused = bool(reason) or not rig.choice.can("padding")
            must(able or refused, f"planning lets an encoding pass that needs {slot!r}")
        if reason:
            reasons.append(reason)
            continue
        for sizes in SIZES:
            _train(cell, slot, sizes)
        trained += 1
    if not trained:
        raise CheckSkipped(f"planning lets no model with it pass: {reasons[0]}")


def _train(cell: Cell, slot: str, sizes: Sizes) -> None:
    """One step on texts of several lengths, an empty one among them."""
    model = build_classifier(cell, sizes, vocab_size=50, classes=3, seed=0, dropout=0.1)
    ids = torch.randint(50, (4, 12))
    real = torch.arange(12) < torch.tensor([12, 5, 1, 0])[:, None]
    logits = model(ids, Tokens(real, torch.arange(12)))
    must(tuple(logits.shape) == (4, 3), f"logits of shape {tuple(logits.shape)} instead of (4, 3)")
    finite(logits, f"logits of a model with an encoding that needs {slot!r}")
    torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2, 0])).backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            finite(parameter.grad, f"gradient of {name}")


def stand_ins(slot: str) -> dict[str, Choice]:
    """Plain components of every axis, with an encoding that uses this slot."""
    return {
        "attention": _stand_in(
            "attention",
            "naive:Naive",
            "rotate",
            "bias",
            "padding",
            "causal",
            "cross",
            "cache",
            "exact",
        ),
        "pe": _stand_in(
            "pe",
            {"embed": "sin:Sinusoidal", "rotate": "rope:Rotary"}.get(slot, "alibi:Alibi"),
            slot,
        ),
        "norm": _stand_in("norm", "layer:LayerNorm"),
        "ffn": _stand_in("ffn", "gelu:GELU"),
        "block": _stand_in("block", "pre:Pre", "residual", "cross"),
        "pool": _stand_in("pool", "mean:Mean"),
    }


def _stand_in(kind: str, target: str, *capabilities: str) -> Choice:
    """A built-in component, whatever is registered under its name."""
    component = Component(
        kind=kind,
        name=target.partition(":")[0],
        factory=f"zoo.components.{kind}.{target}",
        summary="",
        source="",
        capabilities=frozenset(capabilities),
        parameters={},
        owner=Owner("encoder-zoo", ""),
    )
    return Choice(component, component.name)
