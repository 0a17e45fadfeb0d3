"""Assertions of checks; their messages have the numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from zoo.conformance.outcomes import REFUSALS, CheckFailed

# Two ways of computing the same in float64 differ only by rounding.
EXACT = 1e-9


def must(holds: bool, what: str) -> None:
    """Fail with this message unless it holds."""
    if not holds:
        raise CheckFailed(what)


@contextlib.contextmanager
def likely(cause: Callable[[], str]) -> Iterator[None]:
    """Add the likely cause to the message of a failure inside; empty: it cannot be told."""
    try:
        yield
    except CheckFailed as failure:
        if not (told := cause()):
            raise
        raise CheckFailed(f"{failure}; likely cause: {told}") from None


def has_shape(actual: Tensor, shape: Sequence[int], what: str) -> None:
    """Fail unless it has this shape."""
    found = tuple(actual.shape)
    must(found == tuple(shape), f"{what}: shape {found} instead of {tuple(shape)}")


def close(actual: Tensor, expected: Tensor, what: str, *, tolerance: float = EXACT) -> None:
    """Fail where an entry is off by more than tolerance · (1 + the largest expected entry)."""
    has_shape(actual, expected.shape, what)
    if actual.numel() == 0:
        return
    actual, expected = actual.detach().double(), expected.detach().double()
    off = (actual - expected).abs()
    bad = int((~off.isfinite()).sum())
    must(not bad, f"{what}: {bad} of {off.numel()} not finite")
    allowed = tolerance * (1 + largest(expected))
    worst = int(off.argmax())
    if float(off.max()) > allowed:
        index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), off.shape))
        raise CheckFailed(
            f"{what}: {float(actual.flatten()[worst]):.6g} instead of "
            f"{float(expected.flatten()[worst]):.6g} at {index}, off by {float(off.max()):.3g} "
            f"where {allowed:.3g} is allowed"
        )


def same(actual: Tensor, expected: Tensor, what: str) -> None:
    """Fail unless every entry is equal."""
    has_shape(actual, expected.shape, what)
    if not torch.equal(actual, expected):
        raise CheckFailed(
            f"{what}: {int((actual != expected).sum())} of {actual.numel()} entries differ, "
            f"by up to {largest(actual.double() - expected.double()):.3g}"
        )


def differ(one: Tensor, other: Tensor, what: str, *, least: float = 1e-6) -> None:
    """Fail unless some entry differs by more than least."""
    has_shape(one, other.shape, what)
    off = largest(one.double() - other.double())
    must(off > least, f"{what}: differs by {off:.3g} at most, where {least:.3g} is the least")


def finite(actual: Tensor, what: str) -> None:
    """Fail unless every entry is finite."""
    bad = int((~actual.isfinite()).sum())
    must(not bad, f"{what}: {bad} of {actual.numel()} entries are not finite")


def largest(values: Tensor) -> float:
    """The largest absolute value, as a plain number."""
    return float(values.detach().abs().max())


def refusal(
    call: Callable[[], object], errors: tuple[type[Exception], ...] = REFUSALS
) -> Exception | None:
    """The error with which the call is refused; None where it is accepted."""
    try:
        call()
    except errors as error:
        return error
    return None
