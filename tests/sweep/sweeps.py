"""Small runs of ``zoo bench``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# A model that trains in a fraction of a second.
TINY = (
    "--dim 16 --heads 2 --hidden 32 --layers 1 --max-length 24 --vocab-size 120 --epochs 2 "
    "--batch-size 8 --rounds 2 --threads 1"
).split()


def zoo(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run ``zoo`` as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "zoo", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        **options,  # type: ignore[call-overload]
    )
