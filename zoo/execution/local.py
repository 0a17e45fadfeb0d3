"""The executors of this machine: ``local``, each job in a process, and ``inline``, in this one.

``local`` survives whatever happens to a job: an exception, an exit, a crash in native code, a lack
of memory, a hang. ``inline`` is for debuggers, notebooks and tests: nothing can stop a job that
hangs there, and a crash of native code ends everything.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import connection
from pathlib import Path
from typing import Any

from zoo.errors import StoppedError, ZooError
from zoo.execution.base import (
    OUTPUT,
    Artifacts,
    CostJob,
    Ended,
    Event,
    Executor,
    Job,
    Limits,
    Notice,
    Progress,
    Result,
    Started,
)
from zoo.execution.machine import use_threads
from zoo.execution.process import Worker
from zoo.execution.run_job import JobError, run_job, timeout

RUN_JOB = "zoo.execution.run_job:run_job"
AGAIN = {  # what is said of a call or job that is made once more, by how it ended
    "oom": "out of memory beside others; it is run again, alone",
    "lost": "its process was lost with the one that started it; it is run again",
}


class LocalExecutor(Executor):
    """Runs jobs in worker processes; see ``zoo.execution.base.Executor``."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run ``limits.jobs`` jobs at once, and cost jobs alone, after all others."""
        return _with_workers(jobs, limits, directory)


class InlineExecutor(Executor):
    """Runs jobs in this process, one after another; see ``zoo.execution.base.Executor``."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run the jobs in order. Raises ZooError for limits that take other processes."""
        training = [job for job in jobs if not isinstance(job, CostJob)]
        if training and limits.jobs > 1:
            raise ZooError("--on inline runs one job at a time: leave out --jobs or use --on local")
        if training and limits.timeout is not None:
            raise ZooError("--on inline cannot stop a job: leave out timeout, or use --on local")
        return _one_by_one(jobs, limits, directory)

    def default_limits(self, asked: Limits, trainings: int = 1) -> Limits:
        """As on ``local``, one after another."""
        return replace(super().default_limits(asked, trainings), jobs=asked.jobs or 1)


def _one_by_one(jobs: Sequence[Job], limits: Limits, directory: Path) -> Generator[Event]:
    with Artifacts(directory) as artifacts:
        for job in jobs:
            if isinstance(job, CostJob):  # starts processes of its own, and needs no torch here
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
    yield Started(job)
    result = Result("lost")
    for again in (False, True):
        if again:
            yield Notice(f"{job.name}: {AGAIN['lost']}")
        for item in run_job(job, artifacts.of(job), limits):
            if isinstance(item, Result):
                result = item
            else:
                yield Progress(job, item)
        if not any(one.status == "lost" for one in (result, *result.members)):
            break
    yield Ended(job, artifacts.with_files(job, result))
    artifacts.remove(job)


def _with_workers(jobs: Sequence[Job], limits: Limits, directory: Path) -> Generator[Event]:
    with Artifacts(directory) as artifacts:

        def call(job: Job) -> Call:
            own = artifacts.of(job)
            return Call(job, RUN_JOB, (job, own, limits), own / OUTPUT)

        calls = map(call, (job for job in jobs if not isinstance(job, CostJob)))
        with contextlib.closing(run_calls(calls, limits, limits.jobs)) as events:
            for made, kind, item in events:
                job: Job = made.of
                if kind == "began":
                    yield Started(job)
                elif kind == "again":
                    yield Notice(f"{job.name}: {item}")
                elif kind == "yielded":
                    yield Progress(job, item)
                else:
                    result = item.result() if isinstance(item, JobError) else item
                    result = replace(result, seconds=made.seconds)
                    yield Ended(job, artifacts.with_files(job, result))
                    artifacts.remove(job)
        for job in jobs:
            if isinstance(job, CostJob):  # it starts workers of its own
                yield from _run_here(job, limits, artifacts)


@dataclass(eq=False)
class Call:
    """A function (``"module:name"``) and its arguments, for a worker process of its own.

    of: what the caller knows it by. log: the file that receives what the process prints. started:
    when it began last. shares: it had the machine with others at any time since. again: it is made
    for the second time.
    """

    of: Any
    function: str
    arguments: tuple[Any, ...]
    log: Path
    started: float = 0.0
    shares: bool = False
    again: bool = False

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.started


def run_calls(
    calls: Iterable[Call], limits: Limits, at_once: int
) -> Generator[tuple[Call, str, Any]]:
    """Make the calls, so many at once, and yield each with what happens: a word and a value.

    ``began``; ``yielded`` and an item; ``again`` and why: it is made once more, because it was
    lost, or, alone and after all others, because it ran out of memory while others ran. Every call
    has one ``ended``, with what it returned, or its last item where that is a Result, or a JobError
    where it failed, took longer than ``limits.timeout`` or died. Closing the iterator stops the
    processes. Raises StoppedError where no call can be made or go on.
    """
    waiting, lost, to_retry = iter(calls), list[Call](), list[Call]()
    following = next(waiting, None)
    active: dict[Any, tuple[Call, Worker]] = {}  # by what the worker's messages come through

    def ended(pipe: Any, value: Any) -> tuple[Call, str, Any]:
        call, worker = active.pop(pipe)
        worker.stop()
        status = getattr(value, "status", "")
        if (status == "oom" and call.shares) or (status == "lost" and not call.again):
            (to_retry if status == "oom" else lost).append(call)
            call.again = True
            return call, "again", AGAIN[status]
        return call, "ended", value

    try:
        while following or lost or active or to_retry:
            if not (following or lost or active):
                following, at_once = to_retry.pop(0), 1
            while len(active) < at_once and (call := lost.pop() if lost else following):
                if call is following:
                    following = next(waiting, None)
                worker = Worker(limits, call.log)
                worker.send(call.function, *call.arguments)
                active[worker.waitable] = call, worker
                call.started, call.shares = time.monotonic(), False
                if len(active) > 1:
                    for each, _ in active.values():
                        each.shares = True
                if not call.again:
                    yield call, "began", None
            patience = None
            if limits.timeout is not None:  # until the first will have taken too long
                longest = max(call.seconds for call, _ in active.values())
                patience = max(0.0, limits.timeout - longest) + 0.01
            stopped: StoppedError | None = None
            for pipe in connection.wait(list(active), patience):
                call, worker = active[pipe]
                try:
                    kind, item = worker.receive()
                except JobError as failure:
                    kind, item = "failed", failure
                except StoppedError as error:  # after what others have finished
                    stopped = error
                    continue
                last = kind != "yielded" or isinstance(item, Result)
                yield ended(pipe, item) if last else (call, kind, item)
            if stopped is not None:
                raise stopped
            for pipe, (call, _) in list(active.items()):
                if limits.timeout is not None and call.seconds > limits.timeout:
                    yield ended(pipe, timeout(limits.timeout))
    finally:
        for _, worker in active.values():
            worker.stop()
