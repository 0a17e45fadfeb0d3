"""With how many threads a process computes."""

from __future__ import annotations

import scipy.linalg  # noqa: F401 - a BLAS that is loaded later would have threads of its own
import torch
from threadpoolctl import threadpool_limits


def use_threads(count: int) -> threadpool_limits:
    """Let torch use so many threads, and the BLAS of NumPy and SciPy one.

    What is returned gives BLAS back what it had, where it is used as a context. Baselines that fit
    themselves use BLAS for vectors, and its threads wait for one another actively after each: on
    two cores that other processes used as well, a fit of logistic regression took five times the
    processor time with two threads as with one, and one of 200 short texts minutes.
    """
    torch.set_num_threads(count)
    return threadpool_limits(1, user_api="blas")
