"""Checks that the registration agrees with the factory, alone and in a whole model."""

from __future__ import annotations

import ast
import contextlib
import inspect
from dataclasses import replace
from typing import Any

import torch

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.conformance.assertions import finite, has_shape, must, same
from zoo.conformance.check import CheckFailed, CheckSkipped, check
from zoo.conformance.setup import DIM, HEADS, HIDDEN, ModuleSetup, Setup
from zoo.models.build import build_classifier
from zoo.registry import AXES, KINDS, Pattern
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins

# The second finds components that work only with the numbers of the first, which all other checks
# use; its number of heads is no power of two.
SIZES = (
    Sizes(dim=DIM, layers=2, heads=HEADS, ffn_dim=HIDDEN, max_length=12, vocab_size=50),
    Sizes(dim=36, layers=1, heads=3, ffn_dim=60, max_length=12, vocab_size=50),
)
# A plain encoding that needs the slot, and the other plain parts of a model.
ENCODINGS = {"embed": "sin", "rotate": "rope", "bias": "alibi"}
PLAIN = {"attention": "naive", "norm": "layer", "ffn": "gelu", "block": "pre", "pool": "mean"}


@check(*KINDS)
def parameters(setup: Setup) -> None:
    """The registered parameters are the factory's own, with the same plain defaults."""
    component = setup.choice.component
    declared = dict(component.parameters)
    for name, default in declared.items():
        plain = None
        with contextlib.suppress(ValueError, SyntaxError):
            plain = ast.literal_eval(repr(default))
        written = type(plain) is type(default) and plain == default
        must(written, f"the default of '{name}' is no plain value: {default!r}")
    taken = inspect.signature(component.resolve()).parameters.values()
    rest = [p for p in taken if p.name not in setup.passes]
    anything = any(p.kind is p.VAR_KEYWORD for p in rest)
    named = {p.name: p.default for p in rest if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    for name, default in declared.items():
        what = f"'{name}' is registered"
        must(name not in setup.passes, f"{what}, but the contract passes it already")
        must(name in named or anything, f"{what}, but the factory does not take it")
        if name in named:
            own = named[name]
            found = "missing" if own is inspect.Parameter.empty else repr(own)
            equal = type(own) is type(default) and own == default
            must(equal, f"{what} with {default!r}, but the factory's default is {found}")
    for name in named:
        must(name in declared, f"the factory takes '{name}', which is not registered")


@check(*AXES)
def contract(setup: ModuleSetup) -> None:
    """The factory builds what its kind's contract says, and a new one at every call."""
    first, second = setup.make(0.0), setup.make(0.0)
    expected: Any = setup.contract
    if not isinstance(first, expected):
        raise CheckFailed(
            f"the factory gives a {type(first).__module__}.{type(first).__name__}, "
            f"no {getattr(expected, '__module__', '')}.{getattr(expected, '__name__', expected)}"
        )
    must(first is None or first is not second, "the factory gives the same object twice")
    if first is not None and second is not None:
        shared = {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}
        must(not shared, f"two of them share {len(shared)} parameters")


@check(*AXES)
def defaults(setup: ModuleSetup) -> None:
    """Giving the registered defaults explicitly changes nothing."""
    component = setup.choice.component
    bare = type(setup)(replace(setup.choice, given={}), setup.settings)
    explicit = type(setup)(replace(bare.choice, given=dict(component.parameters)), setup.settings)
    for case in setup.cases(torch.float32):
        one, other = (case(which.build(torch.float32)) for which in (explicit, bare))
        same(one, other, f"{case.name}: output with the defaults given")


@check(*AXES)
def assembles(setup: ModuleSetup) -> None:
    """Planning refuses what it does not declare; every model that planning allows trains."""
    kind, trained = setup.choice.component.kind, 0
    reasons = []
    for slot, encoding in ENCODINGS.items() if kind == "attention" else [("embed", "sin")]:
        plain = Cell.parse(built_ins(), {**PLAIN, "pe": encoding})
        cell = replace(plain, **{kind: Pattern((setup.choice,))})
        reason = cell.refusal(SIZES[0], {"attention": {"padding"}})
        if kind == "attention":
            able = slot == "embed" or setup.can(slot)
            must(able or bool(reason), f"planning allows an encoding that needs {slot!r}")
        if reason:
            reasons.append(reason)
            continue
        for sizes in SIZES:
            try:
                _train(cell, slot, sizes)
            except ValueError as error:  # refuses these sizes, which a plan then says
                reasons.append(str(error))
            else:
                trained += 1
    if not trained:
        raise CheckSkipped(f"planning allows no model with it: {reasons[0]}")


def _train(cell: Cell, slot: str, sizes: Sizes) -> None:
    """A step, and one under autocast, on texts of several lengths, an empty one among them."""
    model = build_classifier(cell, sizes, vocab_size=50, classes=3, seed=0, dropout=0.1)
    ids = torch.randint(50, (4, 12))
    real = torch.arange(12) < torch.tensor([12, 5, 1, 0])[:, None]
    for mixed in (False, True):
        what = f"a model with an encoding that needs {slot!r}{', under autocast' * mixed}"
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
            logits = model(ids, Tokens(real, torch.arange(12)))
        has_shape(logits, (4, 3), f"logits of {what}")
        finite(logits, f"logits of {what}")
        loss = torch.nn.functional.cross_entropy(logits.float(), torch.tensor([0, 1, 2, 0]))
        loss.backward()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                finite(parameter.grad, f"gradient of {name} in {what}")
