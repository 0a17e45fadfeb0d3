"""Checks that a module is a function of its inputs: no chance, no memory, no side effects."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.conformance.base import check
from zoo.conformance.compare import close, must, same
from zoo.conformance.numerics import MODULES, of_modules
from zoo.conformance.setups.base import ModuleRig

DROPOUT, DRAWS = 0.5, 200


@check(*MODULES, applies=of_modules)
def deterministic(rig: ModuleRig) -> None:
    """In evaluation the same call gives the same output, whatever the random state."""
    module = rig.build(dropout=DROPOUT if rig.takes_dropout else 0.0)
    for case in rig.cases():
        torch.manual_seed(1)
        first = case(module)
        torch.manual_seed(2)
        same(case(module), first, f"{case.name}: output of the same call under another seed")


@check("attention", "ffn", "block")
def dropout(rig: ModuleRig) -> None:
    """Dropout acts in training, and evaluation is what it would be without dropout."""
    with_dropout, without = rig.build(dropout=DROPOUT), rig.build()
    acts = False
    for case in rig.cases():
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
def dropout_scale(rig: ModuleRig) -> None:
    """Dropout makes up for what it drops: on the average, training gives what evaluation does."""
    module = rig.build(dropout=DROPOUT)
    case = rig.cases()[0]
    with torch.no_grad():
        expected = case(module)
        module.train()
        draws = [case(module) for _ in range(DRAWS)]
    fair_share(torch.stack(draws).mean(0), expected)


def fair_share(mean: Tensor, expected: Tensor) -> None:
    """Fail unless the mean over dropout's draws is what evaluation gives, by and large.

    Dropout before something that is not linear moves the mean a little. Forgetting to divide by
    1 - p halves it, and doing so twice doubles it.
    """
    ratio = float((mean * expected).sum() / expected.square().sum())
    must(0.7 < ratio < 1.4, f"training gives {ratio:.3g} times what evaluation does, on average")


@check(*MODULES, applies=of_modules)
def same_seed(rig: ModuleRig) -> None:
    """The same seed gives the same weights and buffers."""
    first, second = rig.build(jitter=False), rig.build(jitter=False)
    one, other = (dict(m.named_parameters()) | dict(m.named_buffers()) for m in (first, second))
    must(one.keys() == other.keys(), f"names differ: {sorted(one.keys() ^ other.keys())}")
    for name, value in one.items():
        same(value, other[name], f"{name} of the second one built from the seed")


@check(*MODULES, applies=of_modules)
def no_state(rig: ModuleRig) -> None:
    """A call leaves nothing behind: another one between changes neither output nor state."""
    module = rig.build()
    state = {name: value.clone() for name, value in module.state_dict().items()}
    others = [*rig.cases(seed=1, length=9), *rig.cases(seed=2, texts=slice(0, 1))]
    for case in rig.cases():
        first = case(module).clone()
        same(case(module), first, f"{case.name}: output of the same call again")
        for other in others:
            other(module)
            same(case(module), first, f"{case.name}: output after a call in between ({other.name})")
    for name, value in module.state_dict().items():
        same(value, state[name], f"{name} after calls in evaluation")


@check(*MODULES, applies=of_modules)
def inputs_untouched(rig: ModuleRig) -> None:
    """Inputs, padding and positions are never changed in place, in evaluation or training."""
    module = rig.build()
    for training in (False, True):
        module.train(training)
        for case in rig.cases():
            tensors = (*case.inputs, *case.fixed)
            before = [tensor.clone() for tensor in tensors]
            case(module)
            for number, (now, then) in enumerate(zip(tensors, before, strict=True)):
                sort = "input" if number < len(case.inputs) else "padding or positions"
                same(now, then, f"{case.name}: {sort} {number} after the call")


@check(*MODULES, applies=of_modules)
def batch_invariance(rig: ModuleRig) -> None:
    """A text gives the same output alone as in a batch, in evaluation and in training."""
    module = rig.build()
    for training in (False, True) if rig.quiet_training else (False,):
        module.train(training)
        together = rig.cases()
        for text in range(together[0].inputs[0].shape[0]):
            alone = rig.cases(texts=slice(text, text + 1))
            for case, single in zip(together, alone, strict=True):
                out, expected = single(module), case(module)
                if expected.shape[0] != case.inputs[0].shape[0]:
                    continue  # a bias belongs to positions and has no batch
                mode = "training" if training else "evaluation"
                close(out, expected[text : text + 1], f"{case.name}: text {text} alone, {mode}")
