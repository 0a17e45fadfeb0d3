"""Checks of training: it computes what evaluation does, and leaves nothing behind."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from zoo.conformance.assertions import close, must, same
from zoo.conformance.check import CheckSkipped, check
from zoo.conformance.modules import DROPOUT, MODULES, of_modules, with_gradients
from zoo.conformance.setup import ModuleSetup
from zoo.models.seeding import seeded


@check(*MODULES, applies=of_modules)
def training(setup: ModuleSetup) -> None:
    """Training without dropout gives evaluation's output and gradients, unless `random`."""
    if not setup.quiet_training:
        raise CheckSkipped("it may draw random numbers in training")
    module = setup.build()
    hint = "; one that draws random numbers in training declares 'random'"
    for case in setup.cases():
        expected, expected_gradients = with_gradients(case.call, module.eval(), case)
        out, gradients = with_gradients(case.call, module.train(), case)
        close(out, expected, f"{case.name}: output in training{hint}")
        absent = sorted(expected_gradients.keys() - gradients.keys())
        must(not absent, f"{case.name}: in training no gradient reaches {', '.join(absent)}")
        for name, gradient in gradients.items():
            wanted = expected_gradients.get(name, torch.zeros_like(gradient))
            close(gradient, wanted, f"{case.name}: gradient of {name} in training{hint}")


@check(*MODULES, applies=of_modules)
def training_leaves_no_state(setup: ModuleSetup) -> None:
    """A training pass changes no weight, no buffer and no later output."""
    module = setup.build(dropout=DROPOUT if "dropout" in setup.passes else 0.0)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    cases = setup.cases()
    expected = [case(module).detach().clone() for case in cases]
    for case in (*setup.cases(seed=1), *setup.cases(seed=2)):
        with_gradients(case.call, module.train(), case)
    for name, value in module.state_dict().items():
        same(value, before[name], f"{name} after training passes without a step of an optimizer")
    module.eval()
    for case, whole in zip(cases, expected, strict=True):
        same(case(module), whole, f"{case.name}: output in evaluation after training passes")


@check(*MODULES, applies=of_modules)
def nothing_kept(setup: ModuleSetup) -> None:
    """When a call is over, neither its graph nor any of its tensors is kept."""
    module = setup.build()
    for training_now in (False, True):
        module.train(training_now)
        cases = setup.cases()
        for case in cases:  # what a first call makes once, such as a table, may stay
            case(module)
        with _new_tensors() as kept:
            for case in cases:
                case(module)
        graphs = sum(tensor.grad_fn is not None for tensor in kept)
        shapes = ", ".join(sorted({str(tuple(tensor.shape)) for tensor in kept}))
        what = f"{len(kept)} tensors of a call (shapes {shapes}) are still there after it"
        what += ", and with them its graph" * bool(graphs)
        must(not kept, f"{what}: keep none in attributes, lists or caches of your own")


@contextmanager
def _new_tensors() -> Iterator[list[Tensor]]:
    """A list that is filled, at the end, with the tensors made meanwhile that are still alive."""
    found: list[Tensor] = []
    gc.freeze()  # what is there already is left out of what follows
    try:
        yield found
        gc.collect()
        found += [o for o in gc.get_objects() if issubclass(type(o), Tensor)]
    finally:
        gc.unfreeze()


@check(*MODULES, applies=of_modules)
def seeds(setup: ModuleSetup) -> None:
    """Two seeds give two sets of initial weights, from torch's global generator as it is."""
    built, states = [], []
    for seed in (1, 2):
        with seeded(setup.settings.seed + seed, "checks/seeds"):
            made = setup.make(0.0)
            states.append(torch.get_rng_state())
        if not isinstance(made, nn.Module):
            raise CheckSkipped("it builds nothing, which its kind allows")
        built.append(dict(made.named_parameters()))
    what = "leaves torch's generator in the same state with two seeds: it must not seed it"
    must(not torch.equal(*states), what)
    one, other = built
    alike = [
        name
        for name, value in one.items()
        if _drawn(value.detach()) and torch.equal(value, other[name])
    ]
    must(
        not alike,
        f"{', '.join(alike)} are the same with two seeds: draw initial weights from torch's "
        "global generator, without a generator or seed of your own",
    )


def _drawn(weight: Tensor) -> bool:
    """Whether it looks like random numbers: a matrix of distinct values with unlike rows."""
    if weight.dim() < 2 or not weight.is_floating_point() or min(weight.shape) < 2:
        return False
    rows = weight.flatten(1).double()
    distinct = len(weight.unique()) > weight.numel() / 2
    likeness = nn.functional.cosine_similarity(rows[1:], rows[:-1], dim=1).abs().mean()
    # Sinusoids and other smooth tables, which may well be the same, have like neighbours.
    return distinct and float(likeness) < 0.5
