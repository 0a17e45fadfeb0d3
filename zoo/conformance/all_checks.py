"""The checks of every kind."""

from __future__ import annotations

import importlib

from zoo.conformance.check import CHECKS, Check
from zoo.errors import ZooError, nearest

# In the order in which their checks are run and listed.
_MODULES = (
    "registration",
    "numerics",
    "purity",
    "attention.padding",
    "attention.causality",
    "attention.context",
    "attention.encodings",
    "attention.exactness",
    "attention.undeclared",
    "pe.slots",
    "pe.scores",
    "norm",
    "ffn",
    "block",
    "pool",
    "data",
    "baseline",
    "task",
    "metric",
    "executor",
    "assembly",
)


def checks_of(kind: str) -> dict[str, Check]:
    """The checks of a kind by name, in the order in which they are run; imports torch."""
    for module in _MODULES:
        importlib.import_module(f"zoo.conformance.{module}")
    return CHECKS[kind]


def find_check(kind: str, name: str) -> Check:
    """One check by name; ZooError where the kind has none of that name."""
    checks = checks_of(kind)
    if name not in checks:
        raise ZooError(f"{kind} has no check '{name}'{nearest(name, checks)}")
    return checks[name]
