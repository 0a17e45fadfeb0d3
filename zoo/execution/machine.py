"""The machine: cores that a job may use, threads, and the environment that a record has of it.

Imports torch only where it is called.
"""

from __future__ import annotations

import functools
import os
import subprocess
from typing import TYPE_CHECKING, Any

import zoo

if TYPE_CHECKING:
    from threadpoolctl import threadpool_limits

    from zoo.config.settings import Execution


def environment(execution: Execution) -> dict[str, Any]:
    """Hardware, versions, threads, and the commit of the zoo's code.

    Raises ZooError where the machine has no such device.
    """
    import tokenizers

    from zoo.training.device import describe, resolve

    own = {"tokenizers": tokenizers.__version__, "zoo": zoo.__version__, "git": git_state()}
    return {**describe(resolve(execution)), **own}


@functools.cache
def git_state() -> dict[str, Any]:
    """The commit of the zoo's code and whether it was changed since; empty outside a checkout."""

    def git(*words: str) -> str:
        command = ["git", "-C", os.path.dirname(zoo.__file__), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    try:
        # An installed copy may lie in another project's checkout, whose commit says nothing of it.
        git("ls-files", "--error-unmatch", "__init__.py")
        return {
            "commit": git("rev-parse", "HEAD"),
            "dirty": bool(git("status", "--porcelain", ".")),
        }
    except (OSError, subprocess.SubprocessError):
        return {}


def use_threads(count: int) -> threadpool_limits:
    """Let torch use so many threads, and the BLAS of NumPy and SciPy one.

    What is returned gives BLAS back what it had, where it is used as a context. Baselines that are
    fitted outside the training loop use BLAS for vectors, and its threads wait for one another
    actively after each: on two cores that other processes used as well, a fit of logistic
    regression took five times the processor time with two threads as with one, and one of 200 short
    texts minutes.
    """
    import scipy.linalg  # noqa: F401 - a BLAS that is loaded later would have threads of its own
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(count)
    return threadpool_limits(1, user_api="blas")


def own_cores() -> int:
    """The cores that this process may use at once: of its affinity, and a container's limit."""
    import joblib  # type: ignore[import-untyped]

    return int(joblib.cpu_count())


def default_threads(trainings: int) -> int:
    """Threads of one of so many trainings: its share of the cores, or ``OMP_NUM_THREADS``.

    The variable never gives it more than its share. As the bits of a training depend on its
    threads, they do not depend on how many trainings run at once, nor on how many are left.
    """
    cores = own_cores()
    share = cores // max(1, min(cores, trainings))
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(share, int(asked)) if asked.isdecimal() and int(asked) else share
