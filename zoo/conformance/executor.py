"""Checks of executors."""

from __future__ import annotations

from zoo.conformance.assertions import must
from zoo.conformance.check import check
from zoo.conformance.setups.setup import Setup


@check("executor")
def contract(setup: Setup) -> None:
    """The factory builds an object with the methods run and close."""
    executor = setup.make()
    for method in ("run", "close"):
        found = callable(getattr(executor, method, None))
        must(found, f"a {type(executor).__name__} has no {method}()")
