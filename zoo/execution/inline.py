"""The inline executor: jobs run in this process, one after another.

For debuggers, notebooks and tests. Nothing can stop a job that hangs, and a crash of native code
ends everything; ``local`` isolates jobs in processes of their own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.errors import ZooError
from zoo.execution.artifacts import Artifacts
from zoo.execution.base import (
    CostJob,
    Ended,
    Event,
    Executor,
    Job,
    Limits,
    Progress,
    Result,
    Started,
)
from zoo.execution.run_job import run_job


class InlineExecutor(Executor):
    """Runs jobs in this process; see ``zoo.execution.base.Executor``."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run the jobs in order. Raises ZooError for limits that take other processes."""
        training = [job for job in jobs if not isinstance(job, CostJob)]
        if training and limits.jobs > 1:
            raise ZooError("--on inline runs one job at a time: leave out --jobs or use --on local")
        if training and (limits.timeout is not None or limits.memory_limit):
            raise ZooError(
                "--on inline cannot stop a job: leave out --timeout and --memory-limit, or use "
                "--on local"
            )
        return _one_by_one(jobs, limits, directory)

    def default_limits(self, asked: Limits, trainings: int = 1) -> Limits:
        """As on ``local``, one after another."""
        return replace(super().default_limits(asked, trainings), jobs=asked.jobs or 1)


def _one_by_one(jobs: Sequence[Job], limits: Limits, directory: Path) -> Generator[Event]:
    with Artifacts(directory) as artifacts:
        for job in jobs:
            with _threads(job, limits):
                yield from run_here(job, limits, artifacts)


def run_here(job: Job, limits: Limits, artifacts: Artifacts) -> Iterator[Event]:
    """Run one job in this process."""
    yield Started(job)
    for item in run_job(job, artifacts.of(job), limits):
        if isinstance(item, Result):
            yield Ended(job, artifacts.with_files(job, item))
        else:
            yield Progress(job, item)
    artifacts.remove(job)


@contextlib.contextmanager
def _threads(job: Job, limits: Limits) -> Iterator[None]:
    """Compute with the threads that a process of ``local`` would have, which decide the bits."""
    if isinstance(job, CostJob):  # starts processes of its own, and needs no torch here
        yield
        return
    import torch

    from zoo.execution.threads import use_threads

    before = torch.get_num_threads()
    try:
        with use_threads(limits.threads):
            yield
    finally:
        torch.set_num_threads(before)
