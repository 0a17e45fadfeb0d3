"""The built-ins, and components unlike them, pass every check; nothing is expected to fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from zoo.registry import BUILT_IN
from zoo.testing import checks, component_checks

HERE = Path(__file__).parent
SOUND = [HERE / "sound.py", HERE / "sound_tasks.py"]
PLAIN = ("norm/rms", "baseline/majority", "metric/accuracy")  # parts that plain pytest checks
# In a quick run one component of each kind is compiled, and no data set is made again.
COMPILED = ("attention/fused", "pe/rope", "norm/layer", "ffn/gelu", "block/pre", "pool/mean")
SLOW_KINDS = ("data", "task")


def marked(check: Any) -> Any:
    """The check as a parameter of a test, marked with the run that it belongs to."""
    quick = check.name == "declares" or check.choice.component.kind not in SLOW_KINDS
    if check.name == "compiled":
        quick = check.component in COMPILED
    marks = [pytest.mark.parts] * (check.component not in PLAIN) if quick else [pytest.mark.slow]
    return pytest.param(check, id=str(check), marks=marks)


@pytest.mark.parametrize("check", map(marked, component_checks(distribution=BUILT_IN)))
def test_a_built_in_component_conforms(check):
    check()


test_no_check_fails_on_a_correct_component = pytest.mark.parts(checks(plugin=SOUND))
