"""The executors of this machine: ``local``, each job in a process, and ``inline``, in this one.

``local`` survives whatever happens to a job: an exception, an exit, a crash in native code, a lack
of memory, a hang. ``inline`` is for debuggers, notebooks and tests: nothing can stop a job that
hangs there, and a crash of native code ends everything.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import connection
from pathlib import Path

from zoo.errors import StoppedError, ZooError
from zoo.execution.base import (
    OUTPUT,
    Artifacts,
    Ended,
    Event,
    Executor,
    Job,
    Limits,
    Notice,
    Progress,
    Result,
    Started,
    Step,
)
from zoo.execution.machine import use_threads
from zoo.execution.process import Worker
from zoo.execution.run_job import JobError, run_job, timeout
from zoo.registry.declarations import part


@part("executor", "local")
class LocalExecutor(Executor):
    """Each job in a process of its own on this machine."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run ``limits.jobs`` jobs at once."""
        with Artifacts(directory) as artifacts:
            together = [job for job in jobs if not job.alone]
            yield from run_in_processes(together, limits, limits.jobs, artifacts)
            for job in jobs:
                if job.alone:
                    yield from _run_here(job, limits, artifacts)


@part("executor", "inline")
class InlineExecutor(Executor):
    """Every job in this process, for debuggers and notebooks."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run the jobs in order. Raises ZooError for limits that take other processes."""
        if not all(job.alone for job in jobs):
            if limits.jobs > 1:
                raise ZooError(
                    "--on inline runs one job at a time: leave out --jobs or use --on local"
                )
            if limits.timeout is not None:
                raise ZooError(
                    "--on inline cannot stop a job: leave out timeout, or use --on local"
                )
        return _one_by_one(jobs, limits, directory)

    def default_limits(self, asked: Limits, trainings: int = 1) -> Limits:
        """As on ``local``, one after another."""
        return replace(super().default_limits(asked, trainings), jobs=asked.jobs or 1)


def _one_by_one(jobs: Sequence[Job], limits: Limits, directory: Path) -> Generator[Event]:
    with Artifacts(directory) as artifacts:
        for job in jobs:
            if job.alone:  # needs no torch in this process
                yield from _run_here(job, limits, artifacts)
                continue
            import torch

            # The threads that a process of ``local`` would have, which decide the bits.
            before = torch.get_num_threads()
            try:
                with use_threads(limits.threads):
                    yield from _run_here(job, limits, artifacts)
            finally:
                torch.set_num_threads(before)


def _run_here(job: Job, limits: Limits, artifacts: Artifacts) -> Iterator[Event]:
    """Run a job in this process."""
    yield Started(job)
    for item in run_job(job, artifacts.of(job), limits):
        if isinstance(item, Result):
            yield Ended(job, artifacts.with_files(job, item))
        else:
            yield Progress(job, item)
    artifacts.remove(job)


@dataclass
class _Running:
    """A job in a process. shares: it has had the machine with others at any time."""

    job: Job
    worker: Worker
    start: float
    shares: bool = False

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.start


def run_in_processes(
    jobs: Iterable[Job], limits: Limits, at_once: int, artifacts: Artifacts
) -> Generator[Event]:
    """Run each job in a process of its own, so many at once.

    A job that runs out of memory beside others is run again, alone and after all others. Closing
    the iterator stops the processes. Raises StoppedError where no job can be started or go on.
    """
    waiting, again = deque(jobs), deque[Job]()
    running: dict[connection.Connection, _Running] = {}
    alone = False

    def start(job: Job) -> None:
        directory = artifacts.of(job)
        worker = Worker(limits, directory / OUTPUT)
        worker.send("zoo.execution.run_job:run_job", job, directory, limits)
        running[worker.waitable] = _Running(job, worker, time.monotonic())
        if len(running) > 1:
            for each in running.values():
                each.shares = True

    def end(pipe: connection.Connection, result: Result) -> Event:
        ended = running.pop(pipe)
        ended.worker.stop()
        if result.status == "oom" and ended.shares:
            again.append(ended.job)
            why = "out of memory beside others; it is run again, alone"
            return Notice(f"{ended.job.name}: {why}")
        result = replace(result, seconds=ended.seconds)
        return Ended(ended.job, artifacts.with_files(ended.job, result))

    try:
        while waiting or running or again:
            if not waiting and not running:
                alone = True
                start(again.popleft())
            while waiting and len(running) < at_once and not alone:
                job = waiting.popleft()
                start(job)
                yield Started(job)
            patience = None
            if limits.timeout is not None:  # until the first will have taken too long
                longest = max(each.seconds for each in running.values())
                patience = max(0.0, limits.timeout - longest) + 0.01
            ended: dict[connection.Connection, Result] = {}
            stopped: StoppedError | None = None
            for pipe in connection.wait(list(running), patience):
                assert isinstance(pipe, connection.Connection)
                try:
                    item = running[pipe].worker.receive()
                except JobError as failure:
                    item = failure.result()
                except StoppedError as error:  # raised after what others have finished
                    stopped = error
                    continue
                if isinstance(item, Step):
                    yield Progress(running[pipe].job, item)
                else:
                    ended[pipe] = item
            for pipe, each in running.items():
                if limits.timeout is not None and each.seconds > limits.timeout:
                    ended.setdefault(pipe, timeout(limits.timeout).result())
            for pipe, result in ended.items():
                event = end(pipe, result)
                yield event
                if isinstance(event, Ended):
                    artifacts.remove(event.job)
            if stopped is not None:
                raise stopped
    finally:
        for each in running.values():
            each.worker.stop()
