"""What is not declared is refused, when planning or when called, and never ignored."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from zoo.conformance.base import REFUSALS, CheckFailed, check
from zoo.conformance.compare import must
from zoo.conformance.probes import GrowingCache
from zoo.conformance.setups.attention import BATCH, AttentionRig, attend
from zoo.conformance.setups.base import DIM, HEADS, normal


@check("attention")
def undeclared(rig: AttentionRig) -> None:
    """Asked for a causal pass, a context or a cache it does not declare, it refuses."""
    module = rig.attention()
    x = normal(rig.generator(0), BATCH, 6, DIM)
    context = normal(rig.generator(1), BATCH, 9, DIM)
    requests: dict[str, Callable[[], Tensor]] = {
        "causal": lambda: attend(module, x, causal=True),
        "cross": lambda: attend(module, x, context=context),
        "cache": lambda: attend(module, x, causal=rig.can("causal"), cache=GrowingCache()),
    }
    for capability, request in requests.items():
        if rig.can(capability):
            continue
        try:
            request()
        except REFUSALS:
            continue
        raise CheckFailed(
            f"does not declare {capability!r}, yet answers when asked for it: declare it, "
            "or raise a ValueError"
        )


@check("attention")
def heads(rig: AttentionRig) -> None:
    """Its heads are as many and as wide as planning counts on: heads · head_dim = dim."""
    module = rig.attention()
    expected = (1, DIM) if rig.can("one-head") else (HEADS, DIM // HEADS)
    must(
        (module.heads, module.head_dim) == expected,
        f"{module.heads} heads of width {module.head_dim} instead of {expected[0]} of {expected[1]}"
        + ("; one with a single head declares 'one-head'" if module.heads == 1 else ""),
    )
