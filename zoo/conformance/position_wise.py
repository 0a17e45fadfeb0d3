"""Checks of norms and feed-forward networks: (B, L, D) to (B, L, D)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import nn

from zoo.conformance.assertions import close, finite, must
from zoo.conformance.check import check
from zoo.conformance.setup import DIM, HIDDEN, Case, Draw, ModuleSetup
from zoo.registry import Choice

STATISTICS = ("unit-rms", "unit-variance", "unbiased")
# A norm's epsilon matters, so its claims hold to some 1e-4 for inputs of the order of one.
NEAR = 1e-4


class NormSetup(ModuleSetup, kind="norm"):
    """Builds ``Norm(dim)``."""

    passes: ClassVar[tuple[str, ...]] = ("dim",)
    contract: ClassVar[Any] = nn.Module

    def make(self, dropout: float = 0.0) -> Any:
        return self.choice.build(DIM)

    def _cases(self, draw: Draw, length: int) -> list[Case]:
        x = 1 + 2 * draw(length, DIM)
        return [Case("plain", (x,), lambda module, x: module(x), x.shape)]


class FFNSetup(NormSetup, kind="ffn"):
    """Builds ``FFN(dim, hidden, dropout)``; None is a layer without a feed-forward network."""

    passes = ("dim", "hidden", "dropout")
    contract = nn.Module | None

    def make(self, dropout: float = 0.0) -> Any:
        return self.choice.build(DIM, HIDDEN, dropout)


def _of_known_statistics(choice: Choice) -> str | None:
    if any(choice.can(capability) for capability in STATISTICS):
        return None
    return "it declares none of " + ", ".join(map(repr, STATISTICS))


@check("norm", "ffn")
def position_wise(setup: ModuleSetup) -> None:
    """Each position is computed by itself, and (…, D) may have any leading shape."""
    module = setup.build()
    x = setup.normal(3, 4, DIM)
    out = module(x)
    for training in (False, True):
        module.train(training)
        for text, row in ((0, 0), (2, 3)):
            close(module(x[text, row]), out[text, row], "a single vector (D)")
        close(module(x.flatten(0, 1)), out.flatten(0, 1), "the same vectors as (N, D)")
        close(module(x[:, None]), out[:, None], "the same vectors as (B, 1, L, D)")
        close(module(x.flip(1)), out.flip(1), "the same vectors in another order")


@check("norm", needs="scale-invariant")
def scale_invariance(setup: NormSetup) -> None:
    """Scaling the input changes nothing."""
    module = setup.build()
    x = 1 + 2 * setup.normal(3, 4, DIM)
    out = module(x)
    for factor in (3.0, 1000.0):
        close(module(factor * x), out, f"output for {factor:g} times the input", tolerance=NEAR)


@check("norm", applies=_of_known_statistics)
def statistics(setup: NormSetup) -> None:
    """A newly built norm's outputs have the mean, variance or mean square that it declares."""
    module = setup.build(jitter=False)
    out = module(1 + 2 * setup.normal(3, 4, DIM))
    one = torch.ones(out.shape[:-1], dtype=out.dtype)
    if setup.can("unit-rms"):
        close(out.square().mean(-1), one, "mean square", tolerance=NEAR)
    for capability, correction, what in (
        ("unit-variance", 0, "variance over D"),
        ("unbiased", 1, "variance over D - 1"),
    ):
        if setup.can(capability):
            close(out.mean(-1), 0 * one, "mean", tolerance=NEAR)
            close(out.var(-1, correction=correction), one, what, tolerance=NEAR)


@check("norm")
def constant_input(setup: NormSetup) -> None:
    """A vector of zeros, or of one number, gives a finite output and a finite gradient."""
    module = setup.build()
    for value in (0.0, 3.0):
        x = torch.full((1, 2, DIM), value, dtype=torch.float64, requires_grad=True)
        out = module(x)
        finite(out, f"output for a vector of {value:g}")
        (gradient,) = torch.autograd.grad(out.sum(), x)
        finite(gradient, f"gradient for a vector of {value:g}")


@check("ffn", needs="gated")
def parameter_count(setup: FFNSetup) -> None:
    """With default parameters, a gated one has as many weights as a plain one."""
    # A parameter may make it wider, which is then what the user wants.
    bare = FFNSetup(Choice(setup.choice.component, setup.choice.label), setup.settings)
    count = sum(parameter.numel() for parameter in bare.build().parameters())
    plain = 2 * DIM * HIDDEN
    # The hidden width may be rounded by one unit, and there may be biases.
    slack = 3 * DIM + 2 * HIDDEN + DIM
    what = f"{count} parameters, where a plain one has {plain} without biases"
    must(abs(count - plain) <= slack, f"{what} and {slack} more or less are allowed")
