"""The zoo command as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import zoo

ENV = {
    **{k: v for k, v in os.environ.items() if k != "ZOO_PLUGINS"},
    # Where the zoo is not installed but stands on the path.
    "PYTHONPATH": str(Path(zoo.__file__).parents[1]),
    "ZOO_PLUGINS": "",  # whatever else is installed on this machine
    "COLUMNS": "100",
}


def run_zoo(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run ``zoo`` with these arguments; its stdout and stderr are pipes."""
    return subprocess.run(
        [sys.executable, "-m", "zoo", *arguments],
        capture_output=True,
        text=True,
        env={**ENV, **env},
        check=False,
    )
