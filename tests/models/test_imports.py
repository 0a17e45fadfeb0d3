"""What answers at once never waits for torch."""

from __future__ import annotations

import subprocess
import sys

STATEMENTS = (
    "import zoo",
    "import zoo.registry",
    "import zoo.registry.loading",
    "import zoo.registry.cell, zoo.config.sizes",
    "from zoo.registry.loading import load; assert load().registry.components('attention')",
)


def test_torch_is_not_imported():
    lines = [f"{statement}\nassert 'torch' not in sys.modules" for statement in STATEMENTS]
    env = {"PYTHONPATH": ":".join(p for p in sys.path if p), "ZOO_PLUGINS": ""}
    program = "\n".join(["import sys", *lines])
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True, env=env)
