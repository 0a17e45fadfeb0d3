"""Checks of every kind of module: dtypes, gradients, precision, torch.compile, state_dict."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from zoo.conformance.assertions import close, finite, must
from zoo.conformance.check import CheckFailed, both, check, unless
from zoo.conformance.setups.setup import Case, ModuleSetup
from zoo.registry import AXES, Choice

MODULES = (*AXES, "baseline")
# The largest error of float32 and bfloat16 against float64 with the same weights, relative to the
# norm of the result: some hundred and some eight units in the last place.
BOUNDS = {torch.float32: 2.0**-16, torch.bfloat16: 2.0**-5}


def of_modules(choice: Choice) -> str | None:
    """Components of the axes, and baselines that are torch modules."""
    if choice.component.kind == "baseline" and not choice.can("tokens"):
        return "it is no torch module: it does not declare 'tokens'"
    return None


@check(*MODULES, applies=of_modules)
def shape_and_dtype(setup: ModuleSetup) -> None:
    """The output has the contract's shape and the input's dtype, in float32, bfloat16, float64."""
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        module = setup.build(dtype)
        for case in setup.cases(dtype):
            out = case(module)
            must(
                isinstance(out, Tensor),
                f"{case.name}, {dtype}: gives a {type(out).__name__}, no tensor",
            )
            if tuple(out.shape) != case.shape:
                raise CheckFailed(
                    f"{case.name}, {dtype}: shape {tuple(out.shape)} instead of {case.shape}"
                )
            must(out.dtype == dtype, f"{case.name}: {dtype} comes out as {out.dtype}")
            finite(out, f"{case.name}, {dtype}: output")


@check(*MODULES, applies=of_modules)
def gradients(setup: ModuleSetup) -> None:
    """Every parameter gets a finite gradient that is not zero, and so does the input."""
    module = setup.build()
    names = [name for name, p in module.named_parameters() if p.requires_grad]
    largest = dict.fromkeys(names, 0.0)
    reached = 0.0
    for case in setup.cases():
        inputs = tuple(x.clone().requires_grad_(x.is_floating_point()) for x in case.inputs)
        out = case.call(module, *inputs)
        if not out.requires_grad:
            continue  # parameters that no case reaches are reported below
        direction = torch.randn(out.shape, dtype=out.dtype)
        module.zero_grad()
        (out * direction).sum().backward()
        for x in inputs:
            if x.grad is not None:
                finite(x.grad, f"{case.name}: gradient of the input")
                reached = max(reached, float(x.grad.abs().max()))
        for name, parameter in module.named_parameters():
            if parameter.grad is not None:
                finite(parameter.grad, f"{case.name}: gradient of {name}")
                largest[name] = max(largest[name], float(parameter.grad.abs().max()))
    # Exactly zero, because a key's bias changes no softmax and its gradient is rounding error. A
    # gradient that is merely too small is found by gradcheck.
    dead = [name for name in names if largest[name] == 0]
    must(not dead, f"no gradient reaches {', '.join(dead)} in any case")
    floating = any(x.is_floating_point() for case in setup.cases() for x in case.inputs)
    must(reached > 0 or not floating, "no gradient reaches the input in any case")


@check(*MODULES, applies=of_modules)
def gradcheck(setup: ModuleSetup) -> None:
    """In float64 the gradients are those of finite differences, of inputs and parameters."""
    module = setup.build()
    parameters = tuple(p for p in module.parameters() if p.requires_grad)
    for case in setup.cases():
        inputs = tuple(x.clone().requires_grad_(x.is_floating_point()) for x in case.inputs)
        leaves = (*(x for x in inputs if x.requires_grad), *parameters)
        if not leaves:
            continue

        def call(*_: Tensor, case: Case = case, inputs: tuple[Tensor, ...] = inputs) -> Tensor:
            # gradcheck changes the leaves in place, and the module's parameters are among them.
            return case.call(module, *inputs)

        if not call().requires_grad:
            continue
        try:
            torch.autograd.gradcheck(call, leaves, fast_mode=True, atol=1e-5, rtol=1e-4)
        except RuntimeError as error:
            raise CheckFailed(f"{case.name}: {' '.join(str(error).split())[:400]}") from error


@check(*MODULES, applies=of_modules)
def precision(setup: ModuleSetup) -> None:
    """Float32 stays within 2^-16 and bfloat16 within 2^-5 of float64, relative to its norm."""
    for dtype, bound in BOUNDS.items():
        low, high = setup.build(dtype), setup.build()
        _copy_parameters(low, high)
        for case, exact in zip(setup.cases(dtype), setup.cases(), strict=True):
            rounded = tuple(x.to(y.dtype) for x, y in zip(case.inputs, exact.inputs, strict=True))
            expected = exact.call(high, *rounded).detach()
            off = float(
                (case(low).double() - expected).detach().norm() / expected.norm().clamp_min(1e-30)
            )
            must(
                off <= bound,
                f"{case.name}: {dtype} is off by {off:.3g} of the norm, where {bound:.3g} is "
                "allowed",
            )


@check(*MODULES, applies=both(of_modules, unless("eager")))
def compiled(setup: ModuleSetup) -> None:
    """torch.compile gives the same output and gradients."""
    module = setup.build()
    cases = setup.cases()
    # Compiling takes seconds: of the cases, the one nearest to how models call it.
    for case in [case for case in cases if case.name == "padded"] or cases[:2]:
        torch.compiler.reset()
        run = torch.compile(case.call, backend=setup.settings.compile_backend)
        (out, grads), (expected, expected_grads) = (
            _with_gradients(f, module, case) for f in (run, case.call)
        )
        close(out, expected, f"{case.name}: compiled output", tolerance=1e-6)
        for name, grad in grads.items():
            what = f"{case.name}: compiled gradient of {name}"
            close(grad, expected_grads[name], what, tolerance=1e-6)


@check(*MODULES, applies=of_modules)
def state_dict(setup: ModuleSetup) -> None:
    """A state_dict loaded into one of another seed gives the same output, bit by bit."""
    first, second = setup.build(seed=0), setup.build(seed=1)
    state = {name: value.clone() for name, value in first.state_dict().items()}
    second.load_state_dict(state, strict=True)
    for case in setup.cases():
        expected, actual = case(first), case(second)
        close(actual, expected, f"{case.name}: output after loading", tolerance=0.0)


def _copy_parameters(source: nn.Module, target: nn.Module) -> None:
    """Give the target the rounded weights, so that only arithmetic differs."""
    with torch.no_grad():
        for low, high in zip(source.parameters(), target.parameters(), strict=True):
            high.copy_(low)


def _with_gradients(
    call: Callable[..., Tensor], module: nn.Module, case: Case
) -> tuple[Tensor, dict[str, Tensor]]:
    inputs = tuple(x.clone().requires_grad_(x.is_floating_point()) for x in case.inputs)
    module.zero_grad()
    out = call(module, *inputs)
    if out.requires_grad:
        out.sin().sum().backward()
    leaves = {f"input {i}": x for i, x in enumerate(inputs)} | dict(module.named_parameters())
    return out.detach(), {n: x.grad.clone() for n, x in leaves.items() if x.grad is not None}
