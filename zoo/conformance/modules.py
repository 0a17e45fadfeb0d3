"""Checks of every kind of module: what a call computes, and that it is a pure function."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import json
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from zoo.conformance.assertions import EXACT, close, finite, has_shape, likely, must, same
from zoo.conformance.check import check, checks_of
from zoo.conformance.elsewhere import elsewhere
from zoo.conformance.outcomes import CheckFailed, CheckSettings, CheckSkipped
from zoo.conformance.setup import (
    BATCH,
    Case,
    ModuleSetup,
    Setup,
)
from zoo.registry import AXES, KINDS, Choice

MODULES = (*AXES, "baseline")
DROPOUT = 0.5
# What may have tensors of two devices: a copy, and an index on the CPU into a tensor elsewhere.
COPIES, INDEXED = ("copy_",), ("index.", "index_put", "_index_put_impl")
# The largest error of float32 and bfloat16 against float64 with the same weights, relative to the
# norm of the result: some thousand units in the last place, as many as angles at far positions
# lose, and some eight.
BOUNDS = {torch.float32: 2.0**-14, torch.bfloat16: 2.0**-5}
# The share of a gradient's norm by which bfloat16 may change it: rounding errors are some 2^-8 a
# number, and differences of nearly equal ones lose more.
GRADIENT_BOUND = 0.25
LARGE = 100.0
# Width, heads, hidden: as many heads as texts, one head, and a number of heads above the batch's.
OTHERS = ((24, BATCH, 20), (12, 1, 30), (40, 5, 96))


def of_modules(choice: Choice) -> str | None:
    """Components of the axes, and baselines that are torch modules."""
    if choice.component.kind == "baseline" and not choice.can("tokens"):
        return "it is no torch module: it does not declare 'tokens'"
    return None


@check(*KINDS)
def parameters(setup: Setup) -> None:
    """The registered parameters are the factory's own, with the same plain defaults."""
    component = setup.choice.component
    declared = dict(component.parameters)
    for name, default in declared.items():
        plain = None
        with contextlib.suppress(ValueError, SyntaxError):
            plain = ast.literal_eval(repr(default))
        written = type(plain) is type(default) and plain == default
        must(written, f"the default of '{name}' is no plain value: {default!r}")
    taken = inspect.signature(component.resolve()).parameters.values()
    rest = [p for p in taken if p.name not in setup.passes]
    anything = any(p.kind is p.VAR_KEYWORD for p in rest)
    named = {p.name: p.default for p in rest if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    for name, default in declared.items():
        what = f"'{name}' is registered"
        must(name not in setup.passes, f"{what}, but the contract passes it already")
        must(name in named or anything, f"{what}, but the factory does not take it")
        if name in named:
            own = named[name]
            found = "missing" if own is inspect.Parameter.empty else repr(own)
            equal = type(own) is type(default) and own == default
            must(equal, f"{what} with {default!r}, but the factory's default is {found}")
    for name in named:
        must(name in declared, f"the factory takes '{name}', which is not registered")


@check(*AXES)
def contract(setup: ModuleSetup) -> None:
    """The factory builds what its kind's contract says, and a new one at every call."""
    first, second = setup.make(0.0), setup.make(0.0)
    expected: Any = setup.contract
    if not isinstance(first, expected):
        raise CheckFailed(
            f"the factory gives a {type(first).__module__}.{type(first).__name__}, "
            f"no {getattr(expected, '__module__', '')}.{getattr(expected, '__name__', expected)}"
        )
    must(first is None or first is not second, "the factory gives the same object twice")
    if first is not None and second is not None:
        shared = {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}
        must(not shared, f"two of them share {len(shared)} parameters")


@check(*AXES)
def defaults(setup: ModuleSetup) -> None:
    """Giving the registered defaults explicitly changes nothing."""
    bare, explicit = setup.given(), setup.given(**setup.choice.component.parameters)
    for case in setup.cases(torch.float32):
        one, other = (case(which.build(torch.float32)) for which in (explicit, bare))
        same(one, other, f"{case.name}: output with the defaults given")


@check(*MODULES, applies=of_modules)
def shape_and_dtype(setup: ModuleSetup) -> None:
    """The output has the contract's shape and the input's dtype, in float32 and float64."""
    # Not in bfloat16: there weights stay in float32, as the check autocast has them.
    for dtype in (torch.float32, torch.float64):
        module = setup.build(dtype)
        for case in setup.cases(dtype):
            out = case(module)
            what = f"{case.name}, {dtype}"
            must(isinstance(out, Tensor), f"{what}: gives a {type(out).__name__}, no tensor")
            has_shape(out, case.shape, what)
            must(out.dtype == dtype, f"{case.name}: {dtype} comes out as {out.dtype}")
            with likely(lambda: setup.fault(module)):  # noqa: B023
                finite(out, f"{what}: output")


@check(*MODULES, applies=of_modules, unless="eager")
def compiled(setup: ModuleSetup) -> None:
    """torch.compile gives the same output and gradients."""
    module, cases = setup.build(), setup.cases()
    # Compiling takes seconds: of the cases, the one nearest to how models call it.
    for case in [case for case in cases if case.name == "padded"] or cases[:2]:
        torch.compiler.reset()
        run = torch.compile(case.call, backend=setup.settings.compile_backend)
        found, expected = (with_gradients(f, module, case) for f in (run, case.call))
        all_close(found, expected, f"{case.name}, compiled", tolerance=1e-6)


def all_close(
    found: tuple[Tensor, dict[str, Tensor]],
    expected: tuple[Tensor, dict[str, Tensor]],
    what: str,
    tolerance: float = EXACT,
) -> None:
    """Fail unless output and gradients, as ``with_gradients`` gives them, agree."""
    close(found[0], expected[0], f"{what}: output", tolerance=tolerance)
    absent = sorted(expected[1].keys() - found[1].keys())
    must(not absent, f"{what}: no gradient reaches {', '.join(absent)}")
    for name, gradient in found[1].items():
        wanted = expected[1].get(name, torch.zeros_like(gradient))
        close(gradient, wanted, f"{what}: gradient of {name}", tolerance=tolerance)


@check(*MODULES, applies=of_modules)
def state_dict(setup: ModuleSetup) -> None:
    """A state_dict loaded into one of another seed gives the same output, bit by bit."""
    first, second = setup.build(seed=0), setup.build(seed=1)
    state = {name: value.clone() for name, value in first.state_dict().items()}
    second.load_state_dict(state, strict=True)
    for case in setup.cases():
        expected, actual = case(first), case(second)
        close(actual, expected, f"{case.name}: output after loading", tolerance=0.0)


def with_gradients(
    call: Callable[..., Tensor], module: nn.Module, case: Case
) -> tuple[Tensor, dict[str, Tensor]]:
    """The output of a case, and the gradients of inputs and parameters by name."""
    inputs = case.leaves()
    module.zero_grad()
    out = call(module, *inputs)
    if out.requires_grad:
        out.sin().sum().backward()
    leaves = {f"input {i}": x for i, x in enumerate(inputs)} | dict(module.named_parameters())
    return out.detach(), {n: x.grad.clone() for n, x in leaves.items() if x.grad is not None}


@check(*MODULES, applies=of_modules)
def no_state(setup: ModuleSetup) -> None:
    """No call, trained, evaluated or without grad, changes weights, inputs or a later output."""
    module = setup.build(dropout=DROPOUT if "dropout" in setup.passes else 0.0)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    cases, few = setup.cases(), setup.cases(seed=2, texts=slice(0, 1))
    expected = [_leaves_inputs(module, case, "").detach().clone() for case in cases]
    modes = (False, True), (False, False), (True, True)
    calls = itertools.product(modes, (cases, setup.cases(seed=1, length=9), few))
    for turn, ((training, gradients), others) in enumerate(calls, start=1):
        mode = ", in training" * training + ", under torch.no_grad" * (not gradients)
        for own, called in enumerate(others):
            with torch.set_grad_enabled(gradients):
                out = _leaves_inputs(module.train(training), called, mode)
            if training and out.requires_grad:
                out.sin().sum().backward()
            # Called in the same way, and before that in another: each time the next but one more.
            what = f"output in evaluation after a call in between ({called.name}{mode})"
            for number in ((own + turn) % len(cases), own):
                again = cases[number](module.eval())
                same(again, expected[number], f"{cases[number].name}: {what}")
        for name, value in module.state_dict().items():
            same(value, state[name], f"{name} after calls in between{mode}")


def _leaves_inputs(module: nn.Module, case: Case, mode: str) -> Tensor:
    """The output of a case, whose inputs, mask and positions must be afterwards as before."""
    tensors = (*case.inputs, *case.fixed)
    before = [tensor.clone() for tensor in tensors]
    out = case(module)
    for number, (now, then) in enumerate(zip(tensors, before, strict=True)):
        which = "input" if number < len(case.inputs) else "mask or positions"
        same(now, then, f"{case.name}: {which} {number} after the call{mode}")
    return out


@check(*MODULES, applies=of_modules)
def memory_layout(setup: ModuleSetup) -> None:
    """Inputs that are views, whose numbers stand in another order in memory, give the same."""
    module = setup.build()
    for case in setup.cases():
        turned = [x.mT.contiguous().mT if x.dim() > 1 else x for x in case.inputs]
        close(case.call(module, *turned), case(module), f"{case.name}: output for transposed views")


class _TwoDevices(TorchDispatchMode):
    """Notes what gets tensors on the meta device and the CPU at once, or copies to the CPU."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        name = str(func).removeprefix("aten.")
        # A tensor of one number on the CPU goes with every device.
        places = {x.device.type for x in tensors if x.dim() or x.device.type != "cpu"}
        allowed = name.startswith(COPIES) or (name.startswith(INDEXED) and args[0].is_meta)
        moved = name.startswith("_to_copy") and "meta" in places
        back = moved and torch.device((kwargs or {}).get("device") or "meta").type == "cpu"
        if back or (len(places) > 1 and not allowed):
            self.seen.append(name)
        return func(*args, **(kwargs or {}))


@check(*MODULES, applies=of_modules)
def device(setup: ModuleSetup) -> None:
    """Moved to another device it computes there alone: nothing is left, or made, on the CPU."""
    module, called, reason = setup.build().to("meta"), 0, ""
    hint = "make tensors with device=x.device, and register as buffers those that are kept"
    for case in setup.cases(device="meta"):
        out, both = None, _TwoDevices()
        try:
            with both:
                out = case(module)
        except Exception as error:  # noqa: BLE001 - the meta device has no values to look at
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        what = f"{case.name}: {', '.join(both.seen[:3])} gets tensors on two devices"
        must(not both.seen, f"{what}: {hint}")
        if out is not None:
            must(out.is_meta, f"{case.name}: the output is on device {out.device}: {hint}")
            called += 1
    if not called:
        raise CheckSkipped(f"it looks at values, which torch's meta device has not: {reason}")


def autocast(enabled: bool = True) -> torch.autocast:
    """As a run with ``--precision bf16``; or, where it is not enabled, as one without."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled)


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
            with autocast(dtype == torch.bfloat16):
                out = case(low)
            error = (out.double() - expected).detach().norm()
            off = float(error / expected.norm().clamp_min(1e-30))
            what = f"{case.name}: {dtype} is off by {off:.3g} of the norm"
            must(off <= bound, f"{what}, where {bound:.3g} is allowed")


@check("attention", "norm", "ffn", "block", "pool")
def large_inputs(setup: ModuleSetup) -> None:
    """Inputs a hundred times as large give finite outputs and gradients, under autocast too."""
    module = setup.build(torch.float32)
    for low in (False, True):
        for case in setup.cases(torch.float32):
            inputs = tuple((LARGE * x).requires_grad_() for x in case.inputs)
            with autocast(low):
                out = case.call(module, *inputs)
            what = f"{case.name}, {LARGE:g} times the input{', under autocast' * low}"
            hint = "subtract the largest score before exp, or use softmax"
            finite(out, f"{what} ({hint}): output")
            for gradient in torch.autograd.grad(out.sum(), inputs, materialize_grads=True):
                finite(gradient, f"{what} ({hint}): gradient")


@check(*AXES)
def sizes(setup: ModuleSetup) -> None:
    """At other widths and numbers of heads, one too, a text gives the same alone as in a batch."""
    refusals = []
    for dim, heads, hidden in OTHERS:
        other = setup.at(dim, heads, hidden)
        try:
            module = other.build()
        except ValueError as error:
            refusals.append(str(error))
            continue
        for length in (max(3, heads), dim // heads):  # a length that equals another size
            texts = [other.cases(length=length, texts=slice(t, t + 1)) for t in range(BATCH)]
            for case, *alone in zip(other.cases(length=length), *texts, strict=True):
                what = f"width {dim}, {heads} heads, {length} tokens, {case.name}"
                out = case(module)
                has_shape(out, case.shape, what)
                if out.shape[0] != case.inputs[0].shape[0] or case.name[:4] == "bias":
                    continue
                for text, single in enumerate(alone):
                    close(single(module), out[text : text + 1], f"{what}: text {text} alone")
    if len(refusals) == len(OTHERS):
        raise CheckSkipped(f"it refuses all other sizes that are tried: {refusals[0]}")


def weights_and_outputs(choice: Choice) -> str:
    """Everything that a module holds, and gives in each of its cases, as text."""
    checks_of(choice.component.kind)  # imports the set-ups
    setup = Setup.of_kind[choice.component.kind](choice, CheckSettings())
    assert isinstance(setup, ModuleSetup)
    with torch.no_grad():
        module = setup.build()
        outputs = {case.name: case(module) for case in setup.cases()}
    found = {**module.state_dict(), **outputs}
    return json.dumps({name: (tensor.double() + 0.0).tolist() for name, tensor in found.items()})


@check(*AXES)
def same_everywhere(setup: ModuleSetup) -> None:
    """With another hash seed, folder, date and random state it is built and computes the same."""
    setup.build()  # raises where there is nothing to build, and so nothing to compare
    found = elsewhere(setup.choice, setup.files, "zoo.conformance.modules:weights_and_outputs")
    first, *others = map(json.loads, found)
    what = "two processes with other hash seeds, folders, dates and random states"
    for other in others:
        must(list(first) == list(other), f"{what} build it with other weights or buffers")
        for name, values in first.items():
            how = f"{what} differ in '{name}': sort sets, and use no hash()"
            close(torch.tensor(other[name]), torch.tensor(values), how)
