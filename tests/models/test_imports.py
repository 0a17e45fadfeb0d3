"""What answers at once never waits for torch."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "statement",
    [
        "import zoo",
        "import zoo.registry",
        "import zoo.registry.loading",
        "import zoo.registry.cell, zoo.config.sizes",
        "from zoo.registry.loading import load; assert load().registry.components('attention')",
    ],
)
def test_torch_is_not_imported(statement: str) -> None:
    program = f"import sys; {statement}; print('torch' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"PYTHONPATH": ":".join(p for p in sys.path if p), "ZOO_PLUGINS": ""},
    )
    assert result.stdout.strip() == "False"
