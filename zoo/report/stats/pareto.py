"""The Pareto front of two quantities, where ties count as ties.

A row is on the *front* if no other row is significantly better on one quantity and at least tied
on the other. It is *dominated* if one other row is significantly better on both. In between it is
*tied*: another row is better on one quantity and tied on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

Verdict = Callable[[str, str], int | None]
Standing = Literal["front", "tied", "dominated"]


def pareto(names: Sequence[str], first: Verdict, second: Verdict) -> dict[str, Standing]:
    """Where each row stands; verdicts say 1, 0 or -1 of a pair, or None if unknown."""
    standing: dict[str, Standing] = {}
    for name in names:
        standing[name] = "front"
        for other in names:
            if other == name or (better := first(other, name)) not in (0, 1):
                continue
            verdicts = (better, second(other, name))
            if verdicts == (1, 1):
                standing[name] = "dominated"
                break
            if verdicts in ((1, 0), (0, 1)):
                standing[name] = "tied"
    return standing
