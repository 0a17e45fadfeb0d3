"""Checks of every kind of module: numerics, dropout, and that it is a pure function."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from zoo.conformance.assertions import close, finite, has_shape, must, same
from zoo.conformance.check import CheckFailed, check
from zoo.conformance.setup import Case, ModuleSetup
from zoo.registry import AXES, Choice

MODULES = (*AXES, "baseline")
DROPOUT = 0.5
# Where what follows the dropout is not linear, less of it changes the mean less.
LITTLE_DROPOUT, DRAWS = 0.2, 400


def of_modules(choice: Choice) -> str | None:
    """Components of the axes, and baselines that are torch modules."""
    if choice.component.kind == "baseline" and not choice.can("tokens"):
        return "it is no torch module: it does not declare 'tokens'"
    return None


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
            finite(out, f"{what}: output")


@check(*MODULES, applies=of_modules, unless="surrogate")
def gradcheck(setup: ModuleSetup) -> None:
    """In float64 the gradients are those of finite differences, of inputs and parameters."""
    module = setup.build()
    parameters = tuple(p for p in module.parameters() if p.requires_grad)
    for case in setup.cases():
        inputs = case.leaves()
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


@check(*MODULES, applies=of_modules, unless="eager")
def compiled(setup: ModuleSetup) -> None:
    """torch.compile gives the same output and gradients."""
    module = setup.build()
    cases = setup.cases()
    # Compiling takes seconds: of the cases, the one nearest to how models call it.
    for case in [case for case in cases if case.name == "padded"] or cases[:2]:
        torch.compiler.reset()
        run = torch.compile(case.call, backend=setup.settings.compile_backend)
        (out, grads), (expected, expected_grads) = (
            with_gradients(f, module, case) for f in (run, case.call)
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


@check("attention", "ffn", "block")
def dropout(setup: ModuleSetup) -> None:
    """Dropout acts in training, and evaluation is as without dropout."""
    with_dropout, without = setup.build(dropout=DROPOUT), setup.build()
    acts = False
    for case in setup.cases():
        close(case(with_dropout), case(without), f"{case.name}: evaluation with dropout set")
        torch.manual_seed(1)
        first = case(with_dropout.train())
        acts = acts or not torch.equal(first, case(with_dropout))
        if setup.quiet_training:
            trained = case(without.train())
            close(trained, case(without.eval()), f"{case.name}: training without dropout")
        with_dropout.eval()
    must(acts, f"training with dropout {DROPOUT} gives the same output twice, in every case")


@check("ffn")
def dropout_scale(setup: ModuleSetup) -> None:
    """Dropout scales up what it leaves: the mean output in training is that of evaluation."""
    case = setup.cases()[0]
    mean_is_kept(setup.build(dropout=LITTLE_DROPOUT), case)


def mean_is_kept(module: nn.Module, call: Callable[[nn.Module], Tensor]) -> None:
    """Fail unless the mean of what is called in training is about what it is in evaluation."""
    with torch.no_grad():
        expected = call(module)
        module.train()
        draws = [call(module) for _ in range(DRAWS)]
    same_scale(torch.stack(draws).mean(0), expected)


def same_scale(mean: Tensor, expected: Tensor) -> None:
    """Fail unless the mean over draws of dropout has about the scale of evaluation's output.

    Dropout before something that is not linear changes the mean a little. With p = 0.2, not
    dividing by 1 - p gives 0.8 of it, and dividing twice 1.25.
    """
    ratio = float((mean * expected).sum() / expected.square().sum())
    must(0.83 < ratio < 1.2, f"training gives {ratio:.3g} times what evaluation does, on average")


@check(*MODULES, applies=of_modules)
def same_seed(setup: ModuleSetup) -> None:
    """The same seed gives the same weights and buffers."""
    first, second = setup.build(jitter=False), setup.build(jitter=False)
    one, other = (dict(m.named_parameters()) | dict(m.named_buffers()) for m in (first, second))
    must(one.keys() == other.keys(), f"names differ: {sorted(one.keys() ^ other.keys())}")
    for name, value in one.items():
        same(value, other[name], f"{name} of the second one built from the seed")


@check(*MODULES, applies=of_modules)
def no_state(setup: ModuleSetup) -> None:
    """In evaluation a call gives the same again, after any other call, and changes no state."""
    module = setup.build(dropout=DROPOUT if "dropout" in setup.passes else 0.0)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    others = [*setup.cases(seed=1, length=9), *setup.cases(seed=2, texts=slice(0, 1))]
    for case in setup.cases():
        first = case(module).clone()
        same(case(module), first, f"{case.name}: output of the same call again")
        for other in others:
            other(module)
            same(case(module), first, f"{case.name}: output after a call in between ({other.name})")
    for name, value in module.state_dict().items():
        same(value, state[name], f"{name} after calls in evaluation")


@check(*MODULES, applies=of_modules)
def inputs_untouched(setup: ModuleSetup) -> None:
    """Inputs, masks and positions are never changed in place: trained, evaluated, without grad."""
    module = setup.build()
    for training, gradients in ((False, True), (True, True), (False, False)):
        module.train(training)
        for case in setup.cases():
            tensors = (*case.inputs, *case.fixed)
            before = [tensor.clone() for tensor in tensors]
            with torch.set_grad_enabled(gradients):
                case(module)
            mode = "" if gradients else ", under torch.no_grad"
            for number, (now, then) in enumerate(zip(tensors, before, strict=True)):
                which = "input" if number < len(case.inputs) else "mask or positions"
                same(now, then, f"{case.name}: {which} {number} after the call{mode}")


@check(*MODULES, applies=of_modules)
def memory_layout(setup: ModuleSetup) -> None:
    """Inputs that are views, whose numbers stand in another order in memory, give the same."""
    module = setup.build()
    for case in setup.cases():
        turned = [x.mT.contiguous().mT if x.dim() > 1 else x for x in case.inputs]
        close(case.call(module, *turned), case(module), f"{case.name}: output for transposed views")


@check(*MODULES, applies=of_modules)
def batch_invariance(setup: ModuleSetup) -> None:
    """A text gives the same output alone as in a batch, in evaluation and in training."""
    module = setup.build()
    for training in (False, True) if setup.quiet_training else (False,):
        module.train(training)
        batch = setup.cases()
        for text in range(batch[0].inputs[0].shape[0]):
            alone = setup.cases(texts=slice(text, text + 1))
            for case, single in zip(batch, alone, strict=True):
                out, expected = single(module), case(module)
                if expected.shape[0] != case.inputs[0].shape[0]:
                    continue  # the bias of an encoding has no batch dimension
                mode = "training" if training else "evaluation"
                close(out, expected[text : text + 1], f"{case.name}: text {text} alone, {mode}")
