"""The machine and the versions that a result comes from. Imports torch where it is called."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zoo

if TYPE_CHECKING:
    from zoo.training.device import Runtime

PACKAGE = Path(zoo.__file__).parent


def environment(runtime: Runtime) -> dict[str, Any]:
    """Hardware, versions, threads, and the commit of the zoo's code."""
    from zoo.training.device import describe

    return {**describe(runtime), "zoo": zoo.__version__, "git": git_state()}


@functools.cache
def git_state() -> dict[str, Any]:
    """The commit of the zoo's code and whether it was changed since; empty outside a checkout."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(PACKAGE), *words],
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # An installed copy may lie in another project's checkout, whose commit says nothing about it.
    if git("ls-files", "--error-unmatch", "__init__.py") is None:
        return {}
    return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain", "."))}
