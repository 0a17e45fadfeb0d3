"""The local executor: each training in a process of its own on this machine.

It survives whatever happens to a job: an exception, an exit, a crash in native code, a lack of
memory, a hang.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import connection
from pathlib import Path

from zoo.execution import failures
from zoo.execution.artifacts import OUTPUT, Artifacts
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
from zoo.execution.inline import run_here
from zoo.execution.process import Worker


@dataclass
class _Active:
    """A job that a worker is doing."""

    job: Job
    worker: Worker
    started: float


class LocalExecutor(Executor):
    """Runs jobs in worker processes; see ``zoo.execution.base.Executor``."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run ``limits.jobs`` jobs at once, and cost jobs alone, after all others."""
        with Artifacts(directory) as artifacts:
            others = [job for job in jobs if not isinstance(job, CostJob)]
            yield from _parallel(others, limits, artifacts)
            for job in jobs:
                if isinstance(job, CostJob):
                    # It starts processes of its own, so it is coordinated in this one.
                    yield from run_here(job, limits, artifacts)


def _parallel(jobs: Sequence[Job], limits: Limits, artifacts: Artifacts) -> Iterator[Event]:
    waiting = list(reversed(jobs))
    active: dict[connection.Connection, _Active] = {}

    def end(one: _Active, result: Result) -> Iterator[Event]:
        del active[one.worker.waitable]
        one.worker.stop()
        result = replace(result, seconds=time.monotonic() - one.started)
        yield Ended(one.job, artifacts.with_files(one.job, result))
        artifacts.remove(one.job)

    try:
        while waiting or active:
            while waiting and len(active) < limits.jobs:
                one = _start(waiting.pop(), limits, artifacts)
                active[one.worker.waitable] = one
                yield Started(one.job)
            for pipe in connection.wait(list(active), _patience(active, limits.timeout)):
                one = active[pipe]  # type: ignore[index]
                try:
                    kind, item = one.worker.receive()
                except failures.JobError as failure:
                    yield from end(one, failure.result())
                    continue
                if isinstance(item, Result):
                    yield from end(one, item)
                elif kind == "yielded":
                    yield Progress(one.job, item)
            for one in list(active.values()):
                spent = time.monotonic() - one.started
                if limits.timeout is not None and spent > limits.timeout:
                    yield from end(one, failures.timeout(limits.timeout).result())
    finally:
        for one in active.values():
            one.worker.stop()


def _start(job: Job, limits: Limits, artifacts: Artifacts) -> _Active:
    directory = artifacts.of(job)
    worker = Worker(limits, directory / OUTPUT)
    worker.send("zoo.execution.run_job:run_job", job, directory, limits)
    return _Active(job, worker, time.monotonic())


def _patience(active: dict[connection.Connection, _Active], timeout: float | None) -> float | None:
    """Seconds until the first of the active jobs will have taken too long."""
    if timeout is None:
        return None
    first = min(one.started for one in active.values())
    return max(0.0, first + timeout - time.monotonic()) + 0.01
