"""Where checkpoints lie. No torch here: the parent asks as well."""

from __future__ import annotations

import contextlib
from pathlib import Path


def checkpoint_file(directory: Path, key: str) -> Path:
    """The file of the trial with this key."""
    return directory.resolve() / f"{key}.safetensors"


def discard(file: Path) -> None:
    """Remove what a finished trial no longer needs, and the directory with the last of them."""
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)
        file.with_suffix(".tmp").unlink(missing_ok=True)
        file.parent.rmdir()
