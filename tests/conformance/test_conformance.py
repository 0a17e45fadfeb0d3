"""The built-ins, and components unlike them, pass every check; nothing is expected to fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from zoo.registry import BUILT_IN
from zoo.testing import checks, component_checks

HERE = Path(__file__).parent
SOUND = [HERE / "sound.py", HERE / "sound_tasks.py"]
# In a quick run one component of each kind is compiled, no data set is made again, and what differs
# from another one in a constant or in the layout of weights is left out.
COMPILED = {"attention/fused", "pe/rope", "norm/layer", "ffn/gelu", "block/pre", "pool/mean"}
ALIKE = {"attention/split", "attention/packed", "attention/naive", "norm/layer-plain"}
ALIKE |= {"norm/layer-std", "ffn/relu", "ffn/gelu-tanh", "block/res-post"}
SLOW_KINDS = ("data", "task")


def is_quick(check: Any) -> bool:
    """Whether it is made in a quick run."""
    if check.component in ALIKE:
        return False
    if check.name == "compiled":
        return check.component in COMPILED
    return check.choice.component.kind not in SLOW_KINDS or check.name == "declares"


def of_built_ins(*, quick: bool) -> list[Any]:
    """The checks of built-ins that are quick, or those that are not."""
    return [c for c in component_checks(distribution=BUILT_IN) if is_quick(c) is quick]


@pytest.mark.parametrize("check", of_built_ins(quick=True), ids=str)
def test_a_built_in_component_conforms(check):
    check()


@pytest.mark.slow
@pytest.mark.parametrize("check", of_built_ins(quick=False), ids=str)
def test_a_built_in_component_passes_what_takes_seconds(check):
    check()


test_no_check_fails_on_a_correct_component = pytest.mark.slow(checks(plugin=SOUND))
