"""Checks that the registration agrees with the factory."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import Any

import torch

from zoo.conformance.assertions import must, same
from zoo.conformance.check import CheckFailed, check
from zoo.conformance.setup import ModuleSetup, Setup
from zoo.registry import AXES, KINDS, Choice

_NOTHING = inspect.Parameter.empty


@check(*KINDS)
def parameters(setup: Setup) -> None:
    """The registered parameters are the factory's own, with the same plain defaults."""
    component = setup.choice.component
    declared = dict(component.parameters)
    for name, default in declared.items():
        try:
            plain = ast.literal_eval(repr(default))
        except (ValueError, SyntaxError):
            raise CheckFailed(f"the default of '{name}' is no plain value: {default!r}") from None
        must(
            type(plain) is type(default) and plain == default,
            f"the default of '{name}' cannot be written down: {default!r}",
        )
    taken = inspect.signature(component.resolve()).parameters.values()
    rest = [p for p in taken if p.name not in setup.passes]
    anything = any(p.kind is p.VAR_KEYWORD for p in rest)
    named = {p.name: p.default for p in rest if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    for name, default in declared.items():
        what = f"'{name}' is registered"
        must(name not in setup.passes, f"{what}, but the contract passes it already")
        must(name in named or anything, f"{what}, but the factory does not take it")
        if name in named:
            must(
                type(named[name]) is type(default) and named[name] == default,
                f"{what} with {default!r}, but the factory's default is "
                + ("missing" if named[name] is _NOTHING else repr(named[name])),
            )
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
    bare = type(setup)(Choice(component, setup.choice.label), setup.settings)
    explicit = type(setup)(replace(bare.choice, given=dict(component.parameters)), setup.settings)
    for case in setup.cases(torch.float32):
        one, other = (case(which.build(torch.float32)) for which in (explicit, bare))
        same(one, other, f"{case.name}: output with the defaults given")
