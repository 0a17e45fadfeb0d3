"""The built-ins, and components unlike them, pass every check; nothing is expected to fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.conformance import run_checks, select_choices
from zoo.registry import BUILT_IN
from zoo.registry.loading import load
from zoo.testing import ComponentCheck, component_checks, parametrize_with_checks

HERE = Path(__file__).parent
SOUND = [HERE / "sound.py", HERE / "sound_tasks.py"]


# In a quick run one component of each kind is compiled, no data set is made again, and of the
# softmaxes that differ in the layout of weights, two are left out.
COMPILED = {"attention/fused", "pe/rope", "norm/layer", "ffn/gelu", "block/pre", "pool/mean"}
ANOTHER_LAYOUT = {"attention/split", "attention/packed"}
OF_DATA = {"everywhere", "parameters-act"}


def _marks(check: ComponentCheck) -> list[pytest.MarkDecorator]:
    """Slow, where it is; and a check of the executor on Ray starts one."""
    on_ray, of_data = check.component == "executor/ray", check.component.startswith("data/")
    slow = check.name == "compiled" and check.component not in COMPILED
    slow |= check.component in ANOTHER_LAYOUT or (of_data and check.name in OF_DATA) or on_ray
    return [*([pytest.mark.ray] if on_ray else []), *([pytest.mark.slow] if slow else [])]


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, marks=_marks(check), id=str(check))
        for check in component_checks(distribution=BUILT_IN)
    ],
)
def test_a_built_in_component_conforms(check: Callable[[], None]) -> None:
    check()


@pytest.mark.slow
@parametrize_with_checks(plugin=SOUND)
def test_no_check_fails_on_a_correct_component(check: Callable[[], None]) -> None:
    check()


def test_parameters_are_checked_as_given() -> None:
    zoo = load()
    chosen = select_choices(
        zoo, ["norm/rms(eps=1e-3)", "pe/rope(base=500.0)", "ffn/swiglu(matched=False)"]
    )
    only = ["parameters", "shape-and-dtype", "gradcheck"]
    results = list(run_checks(chosen, only=only))
    assert {r.component for r in results} == {
        "norm/rms(eps=0.001)",
        "pe/rope(base=500.0)",
        "ffn/swiglu(matched=False)",
    }
    assert {r.status for r in results} == {"passed"}
