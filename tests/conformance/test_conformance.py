"""The built-ins, and components unlike them, pass every check; nothing is expected to fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zoo.registry import BUILT_IN
from zoo.testing import ComponentCheck, component_checks, parametrize_with_checks

HERE = Path(__file__).parent
SOUND = [HERE / "sound.py", HERE / "sound_tasks.py"]
# In a quick run one component of each kind is compiled, no data set is made again, and of the
# softmaxes that differ in the layout of weights, two are left out.
COMPILED = {"attention/fused", "pe/rope", "norm/layer", "ffn/gelu", "block/pre", "pool/mean"}
ANOTHER_LAYOUT = {"attention/split", "attention/packed"}
OF_DATA = {"everywhere", "parameters-act"}


def is_quick(check: ComponentCheck) -> bool:
    """Whether it is made in a quick run; the executor on Ray starts one, which takes seconds."""
    if check.component in ANOTHER_LAYOUT or check.component == "executor/ray":
        return False
    if check.choice.component.kind == "data":
        return check.name not in OF_DATA
    return check.name != "compiled" or check.component in COMPILED


def of_built_ins(*, quick: bool) -> list[Any]:
    """For each built-in the checks that are quick, or those that are not."""
    found = []
    for of_one in component_checks(distribution=BUILT_IN):
        chosen = tuple(check for check in of_one.checks if is_quick(check) is quick)
        on_ray = [pytest.mark.ray] if of_one.component == "executor/ray" else []
        if chosen:
            some = replace(of_one, checks=chosen)
            found.append(pytest.param(some, marks=on_ray, id=of_one.component))
    return found


@pytest.mark.parametrize("checks", of_built_ins(quick=True))
def test_a_built_in_component_conforms(checks):
    checks()


@pytest.mark.slow
@pytest.mark.parametrize("checks", of_built_ins(quick=False))
def test_a_built_in_component_passes_what_takes_seconds(checks):
    checks()


@pytest.mark.slow
@parametrize_with_checks(plugin=SOUND)
def test_no_check_fails_on_a_correct_component(check):
    check()
