"""An attention refuses what it does not declare; and its number of heads."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from zoo.conformance.assertions import must
from zoo.conformance.check import REFUSALS, CheckFailed, check
from zoo.conformance.reference_parts import GrowingCache
from zoo.conformance.setups.attention_setup import AttentionSetup, attend
from zoo.conformance.setups.setup import BATCH, DIM, HEADS, normal


@check("attention")
def undeclared(setup: AttentionSetup) -> None:
    """It refuses a causal pass, a context or a cache that it does not declare."""
    module = setup.build()
    x = normal(setup.generator(0), BATCH, 6, DIM)
    context = normal(setup.generator(1), BATCH, 9, DIM)
    requests: dict[str, Callable[[], Tensor]] = {
        "causal": lambda: attend(module, x, causal=True),
        "cross": lambda: attend(module, x, context=context),
        "cache": lambda: attend(module, x, causal=setup.can("causal"), cache=GrowingCache()),
    }
    for capability, request in requests.items():
        if setup.can(capability):
            continue
        try:
            request()
        except REFUSALS:
            continue
        raise CheckFailed(
            f"does not declare {capability!r}, yet accepts a call with it: declare it, "
            "or raise a ValueError"
        )


@check("attention")
def heads(setup: AttentionSetup) -> None:
    """The number and width of its heads are those that planning expects: heads · head_dim = dim."""
    module = setup.build()
    expected = (1, DIM) if setup.can("one-head") else (HEADS, DIM // HEADS)
    must(
        (module.heads, module.head_dim) == expected,
        f"{module.heads} heads of width {module.head_dim} instead of {expected[0]} of {expected[1]}"
        + ("; one with a single head declares 'one-head'" if module.heads == 1 else ""),
    )
