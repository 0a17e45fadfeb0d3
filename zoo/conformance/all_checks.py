"""The checks of every kind."""

from __future__ import annotations

import importlib

from zoo.conformance.check import CHECKS, Check

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
    "position_wise",
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
