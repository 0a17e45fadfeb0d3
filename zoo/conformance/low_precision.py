"""Checks of what a run in bfloat16 does: autocast, over weights in float32."""

from __future__ import annotations

import contextlib

import torch
from torch import Tensor

from zoo.conformance.assertions import finite, must, same
from zoo.conformance.check import check
from zoo.conformance.modules import MODULES, of_modules
from zoo.conformance.setup import ModuleSetup

# The largest error of float32 and bfloat16 against float64 with the same weights, relative to the
# norm of the result: some thousand units in the last place, as many as angles at far positions
# lose, and some eight.
BOUNDS = {torch.float32: 2.0**-14, torch.bfloat16: 2.0**-5}
# The share of a gradient's norm by which bfloat16 may change it: rounding errors are some 2^-8 a
# number, and differences of nearly equal ones lose more.
GRADIENT_BOUND = 0.25


def autocast() -> torch.autocast:
    """As a run with ``--precision bf16``."""
    return torch.autocast("cpu", dtype=torch.bfloat16)


@check(*MODULES, applies=of_modules, name="autocast")
def under_autocast(setup: ModuleSetup) -> None:
    """Under autocast it trains as in float32, for inputs of both types, and nothing stays of it."""
    module = setup.build(torch.float32)
    parameters = [p for p in module.parameters() if p.requires_grad]
    for case in setup.cases(torch.float32):
        plain = case(module)
        direction = torch.randn(plain.shape)
        leaves = case.leaves()
        wanted = _gradients(case.call(module, *leaves), direction, leaves, parameters)
        # The residual stream is float32, what a linear layer gives is bfloat16.
        for dtype in (torch.float32, torch.bfloat16):
            what = f"{case.name}, {dtype} under autocast"
            rounded = [x.detach().to(dtype) if x.is_floating_point() else x for x in leaves]
            inputs = tuple(x.requires_grad_(x.is_floating_point()) for x in rounded)
            with autocast():
                out = case.call(module, *inputs)
            finite(out, f"{what}: output")
            found = _gradients(out, direction, inputs, parameters)
            finite(found, f"{what}: gradients")
            off = float((found - wanted).norm() / wanted.norm().clamp_min(1e-30))
            bound = f"{GRADIENT_BOUND} of the norm is allowed"
            must(off <= GRADIENT_BOUND, f"{what}: gradients are off by {off:.3g}, where {bound}")
        same(case(module), plain, f"{case.name}: output without autocast, after a call under it")


def _gradients(
    out: Tensor, direction: Tensor, inputs: tuple[Tensor, ...], parameters: list[Tensor]
) -> Tensor:
    """All gradients of a random combination of the output's entries, one after another."""
    leaves = [x for x in (*inputs, *parameters) if x.requires_grad]
    if not out.requires_grad or not leaves:
        return torch.zeros(1)
    total = (out.float() * direction).sum()
    found = torch.autograd.grad(total, leaves, materialize_grads=True)
    return torch.cat([gradient.detach().float().flatten() for gradient in found])


@check(*MODULES, applies=of_modules)
def precision(setup: ModuleSetup) -> None:
    """Float32 is within 2^-14 of float64, and bfloat16 under autocast within 2^-5, by the norm."""
    high, low = setup.build(), setup.build(torch.float32)
    # Give both the rounded weights, so that only arithmetic differs.
    with torch.no_grad():
        for weight, rounded in zip(high.parameters(), low.parameters(), strict=True):
            weight.copy_(rounded)
    for dtype, bound in BOUNDS.items():
        for case, exact in zip(setup.cases(dtype), setup.cases(), strict=True):
            inputs = (x.to(y.dtype) for x, y in zip(case.inputs, exact.inputs, strict=True))
            expected = exact.call(high, *inputs).detach()
            # Not a module in bfloat16: a run in bfloat16 has weights and buffers in float32.
            with autocast() if dtype == torch.bfloat16 else contextlib.nullcontext():
                out = case(low)
            error = (out.double() - expected).detach().norm()
            off = float(error / expected.norm().clamp_min(1e-30))
            what = f"{case.name}: {dtype} is off by {off:.3g} of the norm"
            must(off <= bound, f"{what}, where {bound:.3g} is allowed")
