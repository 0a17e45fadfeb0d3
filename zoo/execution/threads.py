"""With how many threads a process computes."""

from __future__ import annotations

import torch
from threadpoolctl import threadpool_limits


def use_threads(count: int) -> threadpool_limits:
    """Let torch and the BLAS of NumPy and SciPy use so many threads.

    What is returned gives BLAS back what it had, where it is used as a context. BLAS has a thread
    for each core otherwise, whatever torch has: with another process on the same cores a fit of
    logistic regression then took five times as long, in which threads waited for one another.
    """
    torch.set_num_threads(count)
    return threadpool_limits(count, user_api="blas")
