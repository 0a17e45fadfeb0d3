"""The built-ins, and components unlike them, pass every check; nothing is expected to fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.conformance import run_checks, select_choices
from zoo.registry import BUILT_IN
from zoo.registry.loading import load
from zoo.testing import component_checks, parametrize_with_checks

HERE = Path(__file__).parent
SOUND = [HERE / "sound.py", HERE / "sound_tasks.py"]


# Written-out softmaxes that differ only in the layout of weights: for a quick run one is enough.
SLOW_CHECKS = {f"attention/{name}:compiled" for name in ("single", "split", "packed")}


def _marks(check: str) -> list[pytest.MarkDecorator]:
    """A check of the executor on Ray starts one."""
    on_ray = [pytest.mark.ray] if check.startswith("executor/ray:") else []
    return [*on_ray, *([pytest.mark.slow] if on_ray or check in SLOW_CHECKS else [])]


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(
            check,
            marks=_marks(str(check)),
            id=str(check),
        )
        for check in component_checks(distribution=BUILT_IN)
    ],
)
def test_a_built_in_component_conforms(check: Callable[[], None]) -> None:
    check()


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
