"""The Pareto front where ties count as ties.

A row is on the *front* when no other is really better on one count and at least a tie on the
other. It is *dominated* only where one other is really better on both. What lies between is
*tied*: something beats it on one count, and nobody can tell them apart on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

Verdict = Callable[[str, str], int | None]
Standing = Literal["front", "tied", "dominated"]


def pareto(names: Sequence[str], first: Verdict, second: Verdict) -> dict[str, Standing]:
    """Where each row stands; the verdicts say 1, 0 or -1 of a pair, or None where nobody can."""
    standing: dict[str, Standing] = {}
    for name in names:
        standing[name] = "front"
        for other in names:
            if other == name:
                continue
            better = first(other, name)
            if better not in (0, 1):
                continue
            counts = (better, second(other, name))
            if counts == (1, 1):
                standing[name] = "dominated"
                break
            if counts in ((1, 0), (0, 1)):
                standing[name] = "tied"
    return standing
