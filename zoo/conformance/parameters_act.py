"""The check that every registered parameter of a module changes what it computes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from zoo.components.pe.base import PositionalEncoding
from zoo.conformance.assertions import must
from zoo.conformance.check import CheckFailed, CheckSkipped, check
from zoo.conformance.modules import DROPOUT
from zoo.conformance.setup import PLACE, ModuleSetup
from zoo.conformance.whole_models import outputs_in_a_model
from zoo.registry import AXES

LONG, LARGE = 150, 100.0
SMALL = (1e-9, 1e-13)  # below the usual limits of a denominator
WIDE = (64, 2, 80)  # heads so wide that encodings have several frequencies


@check(*AXES)
def parameters_act(setup: ModuleSetup) -> None:
    """Another value of each numeric parameter changes weights, outputs or losses."""
    numbers = {
        name: value
        for name, value in (
            dict(setup.choice.component.parameters) | dict(setup.choice.given)
        ).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    for name, value in numbers.items():
        tried = []
        for other in _others(value):
            try:
                if _differ(setup, setup.given(**{name: other})):
                    break
            except (ValueError, CheckFailed):  # it refuses the value, or the sizes with it
                continue
            tried.append(f"{other:g}")
        else:
            what = f"with {name}={' or '.join(tried)} weights, outputs and losses are those of"
            must(not tried, f"{what} {name}={value:g}, bit by bit: the parameter does nothing")
    if not numbers:
        raise CheckSkipped("it has no numeric parameter")


def _others(value: float) -> list[float]:
    """Values of the same type near this one."""
    if isinstance(value, int):
        return [2 * value, value // 2, value + 1]
    return [2 * value, value / 2] if value else [0.5]


def _differ(one: ModuleSetup, other: ModuleSetup) -> bool:
    """Whether anything that can be seen differs, in any layer; the last one is wider."""
    places = [{**PLACE, "layer_index": index} for index in range(PLACE["layer_count"])]
    for place in places:
        pair = (one.at(*WIDE), other.at(*WIDE)) if place is places[-1] else (one, other)
        for setup in pair:
            setup.place = place
        for mine, its in zip(*map(_seen, pair), strict=False):
            if mine.shape != its.shape or not torch.equal(mine, its):
                return True
    return False


def _seen(setup: ModuleSetup) -> Iterator[Tensor]:
    """Weights, and what every case gives: short, tiny, long and large, evaluated and trained."""
    module = setup.build(jitter=False, dropout=DROPOUT if "dropout" in setup.passes else 0.0)
    yield torch.tensor(sum(p.numel() for p in module.parameters()))
    yield from module.state_dict().values()
    module = setup.build(dropout=DROPOUT if "dropout" in setup.passes else 0.0)
    for length, scale in ((6, 1.0), *((6, small) for small in SMALL), (LONG, 1.0), (LONG, LARGE)):
        for training in (False, True):
            module.train(training)
            for case in setup.cases(length=length):
                torch.manual_seed(setup.settings.seed)
                yield case.call(module, *(scale * x for x in case.inputs)).detach()
    if isinstance(module, PositionalEncoding):
        torch.manual_seed(setup.settings.seed)
        yield torch.stack([module.place(torch.arange(LONG)) for _ in range(8)])  # by chance
    yield from outputs_in_a_model(setup)
