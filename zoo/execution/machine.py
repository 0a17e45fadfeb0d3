"""The machine: cores that a job may use, threads, and the environment that a record has of it.

Imports torch only where it is called.
"""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zoo

if TYPE_CHECKING:
    from threadpoolctl import threadpool_limits

    from zoo.training.device import Runtime

ROOT = Path("/")
PACKAGE = Path(zoo.__file__).parent


def environment(runtime: Runtime) -> dict[str, Any]:
    """Hardware, versions, threads, and the commit of the zoo's code."""
    import tokenizers

    from zoo.training.device import describe

    own = {"tokenizers": tokenizers.__version__, "zoo": zoo.__version__, "git": git_state()}
    return {**describe(runtime), **own}


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


def own_cores(root: Path = ROOT) -> int:
    """The cores that this process may use at once, at least 1.

    Those of its affinity, or fewer where a control group limits the time (``docker run --cpus``,
    limits of Kubernetes); 1.5 cores count as 1. root: of the file system.
    """
    return max(1, int(min([float(allowed_cores()), *_quotas(root)])))


def allowed_cores() -> int:
    """The cores of this machine, or of this process's affinity where it has one."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_threads(trainings: int, root: Path = ROOT) -> int:
    """Threads of one of so many trainings: its share of the cores, or ``OMP_NUM_THREADS``.

    The variable never gives it more than its share. As the bits of a training depend on its
    threads, they do not depend on how many trainings run at once, nor on how many are left.
    """
    cores = own_cores(root)
    share = cores // max(1, min(cores, trainings))
    return min(share, _omp_threads() or share)


def default_jobs(trainings: int, root: Path = ROOT) -> int:
    """How many of so many trainings run at once on the CPU: as many as their threads leave room."""
    return max(1, min(trainings, own_cores(root) // default_threads(trainings, root)))


def limits_note(root: Path = ROOT) -> str | None:
    """What leaves jobs fewer cores than this machine offers; None where nothing does."""
    allowed, own, asked = allowed_cores(), own_cores(root), _omp_threads()
    parts = []
    if own < allowed:
        parts.append(f"the container's limit leaves {own} of {allowed} cores")
    if asked is not None and asked < own:
        parts.append(f"OMP_NUM_THREADS gives each job at most {asked} of {own}")
    return f"{'; '.join(parts)} (--threads changes it)" if parts else None


def _omp_threads() -> int | None:
    """The value of ``OMP_NUM_THREADS``, of a list the first; None where it is none or no number."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None


def _quotas(root: Path) -> Iterator[float]:
    """The limits, in cores, of the control groups that this process is in.

    https://docs.kernel.org/admin-guide/cgroup-v2.html (``cpu.max``: quota and period, or "max").
    """
    base = root / "sys/fs/cgroup"
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            if not line.startswith("0::"):  # of version 1
                continue
            inner = base / line.removeprefix("0::").lstrip("/")
            # In a container the path may be the host's, and its own group is mounted at the base.
            for group in [inner, *inner.parents]:
                if group == base or base in group.parents:
                    with contextlib.suppress(OSError, ValueError):  # "max" is none
                        quota, period = map(int, (group / "cpu.max").read_text().split())
                        yield quota / period
