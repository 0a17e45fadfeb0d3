"""Assertions of checks; their messages have the numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from zoo.conformance.outcomes import CheckFailed, CheckSkipped, raised

# Two ways of computing the same in float64 differ only by rounding.
EXACT = 1e-9


def must(holds: bool, what: str) -> None:
    """Fail with this message unless it holds."""
    if not holds:
        raise CheckFailed(what)


@contextlib.contextmanager
def trying(what: str) -> Iterator[None]:
    """Say what was tried where something is raised that is no outcome of a check."""
    try:
        yield
    except (CheckFailed, CheckSkipped):
        raise
    except Exception as error:
        raise CheckFailed(f"{what}: {raised(error)}") from error


@contextlib.contextmanager
def hinting(hint: Callable[[], str] | str) -> Iterator[None]:
    """Add a hint to the message of a failure inside; empty: there is none."""
    try:
        yield
    except CheckFailed as failure:
        text = hint if isinstance(hint, str) else hint()
        raise CheckFailed(f"{failure}: {text}" if text else str(failure)) from None


def has_shape(actual: Tensor, shape: Sequence[int], what: str) -> None:
    """Fail unless it has this shape."""
    own = tuple(actual.shape)
    must(own == tuple(shape), f"{what}: shape {own} instead of {tuple(shape)}")


def close(actual: Tensor, expected: Tensor, what: str, *, tolerance: float = EXACT) -> None:
    """Fail where an entry is off by more than tolerance · (1 + the largest expected entry)."""
    has_shape(actual, expected.shape, what)
    if actual.numel() == 0:
        return
    finite(actual, what)
    off = (actual.detach().double() - expected.detach().double()).abs()
    most, allowed = float(off.max()), tolerance * (1 + largest(expected))
    place = tuple(int(i) for i in torch.unravel_index(off.argmax(), off.shape))
    must(most <= allowed, f"{what}: off by {most:.3g} at {place}, where {allowed:.3g} is allowed")


def same(actual: Tensor, expected: Tensor, what: str) -> None:
    """Fail unless every entry is equal."""
    has_shape(actual, expected.shape, what)
    differ = int((actual != expected).sum())
    must(not differ, f"{what}: {differ} of {actual.numel()} entries differ")


def all_close(
    actual: Mapping[str, Tensor],
    expected: Mapping[str, Tensor],
    what: str,
    tolerance: float = EXACT,
) -> None:
    """Fail unless all entries agree; one that is missing here counts as zeros."""
    for name in dict.fromkeys([*expected, *actual]):
        zeros = torch.zeros_like(expected[name] if name in expected else actual[name])
        pair = actual.get(name, zeros), expected.get(name, zeros)
        close(*pair, f"{what}: {name}", tolerance=tolerance)


def finite(actual: Tensor, what: str) -> None:
    """Fail unless every entry is finite."""
    bad = int((~actual.detach().isfinite()).sum())
    must(not bad, f"{what}: {bad} of {actual.numel()} entries are not finite")


def largest(values: Tensor) -> float:
    """The largest absolute value, as a plain number."""
    return float(values.detach().abs().max())


def refusal(call: Callable[[], Any], errors: tuple[type[Exception], ...]) -> Exception | None:
    """The error with which the call is refused; None where it is accepted."""
    try:
        call()
    except errors as error:
        return error
    return None
