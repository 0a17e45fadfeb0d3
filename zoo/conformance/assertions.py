"""Assertions of checks; their messages have the numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.conformance.check import CheckFailed

# Two ways of computing the same in float64 differ only by rounding.
EXACT = 1e-9


def close(actual: Tensor, expected: Tensor, what: str, *, tolerance: float = EXACT) -> None:
    """Fail where an entry is off by more than tolerance · (1 + the largest expected entry)."""
    if actual.shape != expected.shape:
        raise CheckFailed(f"{what}: shape {tuple(actual.shape)} instead of {tuple(expected.shape)}")
    if actual.numel() == 0:
        return
    actual, expected = actual.detach(), expected.detach()
    off = (actual.double() - expected.double()).abs()
    if not off.isfinite().all():
        raise CheckFailed(f"{what}: {int((~off.isfinite()).sum())} of {off.numel()} not finite")
    allowed = tolerance * (1 + float(expected.double().abs().max()))
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
    if actual.shape != expected.shape or not torch.equal(actual, expected):
        differing = (
            f"shape {tuple(actual.shape)} instead of {tuple(expected.shape)}"
            if actual.shape != expected.shape
            else f"{int((actual != expected).sum())} of {actual.numel()} entries differ, "
            f"by up to {largest(actual.double() - expected.double()):.3g}"
        )
        raise CheckFailed(f"{what}: {differing}")


def differ(one: Tensor, other: Tensor, what: str, *, least: float = 1e-6) -> None:
    """Fail unless some entry differs by more than least."""
    if one.shape != other.shape:
        raise CheckFailed(f"{what}: shapes {tuple(one.shape)} and {tuple(other.shape)}")
    off = float((one.double() - other.double()).detach().abs().max())
    if not off > least:
        raise CheckFailed(f"{what}: differs by {off:.3g} at most, where {least:.3g} is the least")


def finite(actual: Tensor, what: str) -> None:
    """Fail unless every entry is finite."""
    bad = int((~actual.isfinite()).sum())
    if bad:
        raise CheckFailed(f"{what}: {bad} of {actual.numel()} entries are not finite")


def largest(values: Tensor) -> float:
    """The largest absolute value, as a plain number."""
    return float(values.detach().abs().max())


def must(holds: bool, what: str) -> None:
    """Fail with this message unless it holds."""
    if not holds:
        raise CheckFailed(what)
