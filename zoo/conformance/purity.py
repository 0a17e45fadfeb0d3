"""Checks that a module is a pure function of its inputs, and that its dropout is right."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.conformance.assertions import close, must, same
from zoo.conformance.check import check
from zoo.conformance.numerics import MODULES, of_modules
from zoo.conformance.setups.setup import ModuleSetup

DROPOUT, DRAWS = 0.5, 200


@check(*MODULES, applies=of_modules)
def deterministic(setup: ModuleSetup) -> None:
    """In evaluation the same call gives the same output, whatever the random state."""
    module = setup.build(dropout=DROPOUT if setup.takes_dropout else 0.0)
    for case in setup.cases():
        torch.manual_seed(1)
        first = case(module)
        torch.manual_seed(2)
        same(case(module), first, f"{case.name}: output of the same call under another seed")


@check("attention", "ffn", "block")
def dropout(setup: ModuleSetup) -> None:
    """Dropout acts in training, and evaluation is as without dropout."""
    with_dropout, without = setup.build(dropout=DROPOUT), setup.build()
    acts = False
    for case in setup.cases():
        close(case(with_dropout), case(without), f"{case.name}: evaluation with dropout set")
        training, without_training = with_dropout.train(), without.train()
        torch.manual_seed(1)
        first = case(training)
        acts = acts or not torch.equal(first, case(training))
        close(
            case(without_training), case(without.eval()), f"{case.name}: training without dropout"
        )
        with_dropout.eval()
    must(acts, f"training with dropout {DROPOUT} gives the same output twice, in every case")


@check("attention", "ffn")
def dropout_scale(setup: ModuleSetup) -> None:
    """Dropout scales up what it leaves: the mean output in training is that of evaluation."""
    module = setup.build(dropout=DROPOUT)
    case = setup.cases()[0]
    with torch.no_grad():
        expected = case(module)
        module.train()
        draws = [case(module) for _ in range(DRAWS)]
    same_scale(torch.stack(draws).mean(0), expected)


def same_scale(mean: Tensor, expected: Tensor) -> None:
    """Fail unless the mean over draws of dropout has about the scale of evaluation's output.

    Dropout before something that is not linear changes the mean a little. With p = 0.5, not
    dividing by 1 - p halves it, and dividing twice doubles it.
    """
    ratio = float((mean * expected).sum() / expected.square().sum())
    must(0.7 < ratio < 1.4, f"training gives {ratio:.3g} times what evaluation does, on average")


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
    """A call has no side effects: another call in between changes neither output nor state."""
    module = setup.build()
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
    """Inputs, masks and positions are never changed in place, in evaluation or training."""
    module = setup.build()
    for training in (False, True):
        module.train(training)
        for case in setup.cases():
            tensors = (*case.inputs, *case.fixed)
            before = [tensor.clone() for tensor in tensors]
            case(module)
            for number, (now, then) in enumerate(zip(tensors, before, strict=True)):
                which = "input" if number < len(case.inputs) else "mask or positions"
                same(now, then, f"{case.name}: {which} {number} after the call")


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
