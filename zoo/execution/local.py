"""The executors of this machine: ``local``, each job in a process, and ``inline``, in this one.

``local`` survives whatever happens to a job: an exception, an exit, a crash in native code, a lack
of memory, a hang. ``inline`` is for debuggers, notebooks and tests: nothing can stop a job that
hangs there, and a crash of native code ends everything.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import random
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import connection
from pathlib import Path
from typing import Any, cast

import numpy as np

from zoo.config.settings import SLOT
from zoo.errors import StoppedError, ZooError, listed
from zoo.execution.base import (
    OUTPUT,
    Advanced,
    Artifacts,
    Ended,
    Event,
    Executor,
    Job,
    Limits,
    Notice,
    Result,
    Started,
    Step,
)
from zoo.execution.failures import JobError, from_exception, require_same_code, timeout
from zoo.execution.machine import use_threads
from zoo.execution.process import Worker, start_server
from zoo.registry.declarations import part

# Imported where a job runs: training needs torch, coordinating a cost job does not.
RUNNERS = {
    "inspect": "zoo.execution.train_job:inspect",
    "train": "zoo.execution.train_job:train",
    "cost": "zoo.execution.cost_job:measure",
}


@part("executor", "local")
class LocalExecutor(Executor):
    """Each job in a process of its own on this machine."""

    def connect(self) -> None:
        """Begin to import torch, which takes as long as reading data does."""
        start_server()

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run ``limits.jobs`` jobs at once."""
        with Artifacts(directory) as artifacts:
            together = [job for job in jobs if not job.alone]
            yield from run_in_processes(together, limits, artifacts)
            for job in jobs:
                if job.alone:
                    yield from _run_here(job, limits, artifacts)


@part("executor", "inline")
class InlineExecutor(Executor):
    """Every job in this process, for debuggers and notebooks."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run the jobs one after another."""
        with Artifacts(directory) as artifacts:
            for job in sorted(jobs, key=lambda job: job.alone):
                if job.alone:  # needs no torch in this process
                    yield from _run_here(job, limits, artifacts)
                    continue
                import torch

                from zoo.models.seeding import GENERATOR

                gpus = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
                with GENERATOR, torch.random.fork_rng(gpus):
                    # The threads that a process of ``local`` would have, which decide the bits.
                    before = torch.get_num_threads()
                    states = random.getstate(), np.random.get_state()
                    try:
                        with use_threads(limits.threads):
                            yield from _run_here(job, limits, artifacts)
                    finally:
                        torch.set_num_threads(before)
                        random.setstate(states[0])
                        np.random.set_state(states[1])

    def default_limits(self, asked: Limits, trainings: int = 1) -> Limits:
        """As on ``local``, one after another. Raises ZooError for what takes other processes."""
        if asked.jobs > 1:
            raise ZooError("--on inline runs one job at a time: leave out --jobs or use --on local")
        if asked.timeout is not None:
            raise ZooError("--on inline cannot stop a job: leave out timeout, or use --on local")
        return replace(super().default_limits(asked, trainings), jobs=1)


def run_job(job: Job, directory: Path, limits: Limits) -> Iterator[Step | Result]:
    """Carry out a job in this process: its steps as they are done and, last, its result.

    directory: for the job's artifacts; it exists. A training that finds its checkpoint there
    resumes. Raises StoppedError where no other job could go on either.
    """
    start = time.monotonic()
    module, _, name = RUNNERS[job.kind].partition(":")
    try:
        require_same_code(job.setup.code)
        for item in getattr(importlib.import_module(module), name)(job, directory, limits):
            if isinstance(item, Result):
                item = replace(_plain(item), seconds=time.monotonic() - start)
            yield item
    except (Exception, SystemExit) as error:
        failure = from_exception(error)
        if isinstance(failure, StoppedError):
            raise failure from error
        yield failure.result(time.monotonic() - start)


def _plain(result: Result) -> Result:
    """The result with plain values alone, whatever a plug-in returned, for a record.

    NumPy's values become Python's, keys become text, and NaN and infinities null. Of any other
    object the type is left, and the reason says so.
    """
    objects: dict[str, None] = {}  # names of the values that were some other object

    def plain(value: Any, name: str = "") -> Any:
        with contextlib.suppress(Exception):  # most values have none
            value = value.tolist()
        if isinstance(value, Mapping):
            return {str(key): plain(each, str(key)) for key, each in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [plain(each, name) for each in value]
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if value is None or isinstance(value, str | int):
            return value
        objects[name] = None
        return f"<{type(value).__name__}>"

    changed = replace(
        result,
        metrics=plain(result.metrics),
        curve=plain(result.curve),
        samples=plain(result.samples),
        members=tuple(map(_plain, result.members)),
    )
    if not objects:
        return changed
    return replace(changed, reason=f"{listed(objects, 5)}: no plain value, only its type is kept")


def _run_here(job: Job, limits: Limits, artifacts: Artifacts) -> Iterator[Event]:
    """Run a job in this process."""
    yield Started(job)
    for item in run_job(job, artifacts.of(job), limits):
        if isinstance(item, Result):
            yield Ended(job, artifacts.with_files(job, item))
        else:
            yield Advanced(job, item)
    artifacts.remove(job)


@dataclass
class _Running:
    """A job in a process.

    slot: the lowest number that no other running job has. shares: it has had the machine with
    others at any time.
    """

    job: Job
    worker: Worker
    start: float
    slot: int
    shares: bool = False

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.start


def run_in_processes(jobs: Iterable[Job], limits: Limits, artifacts: Artifacts) -> Generator[Event]:
    """Run each job in a process of its own, as many at once as the limits say.

    A job that runs out of memory beside others is run again, alone and after all others. Closing
    the iterator stops the processes. Raises StoppedError where no job can be started or go on.
    """
    waiting, again = deque(jobs), deque[Job]()
    running: dict[connection.Connection, _Running] = {}

    def start(job: Job) -> None:
        directory = artifacts.of(job)
        slot = min(set(range(len(running) + 1)) - {each.slot for each in running.values()})
        worker = Worker(limits, directory / OUTPUT, {SLOT: str(slot)})
        worker.send("zoo.execution.local:run_job", job, directory, limits)
        running[worker.waitable] = _Running(job, worker, time.monotonic(), slot)
        if len(running) > 1:
            for each in running.values():
                each.shares = True

    def end(pipe: connection.Connection, result: Result) -> Iterator[Event]:
        ended = running.pop(pipe)
        ended.worker.stop()
        if result.status == "oom" and ended.shares:
            again.append(ended.job)
            why = "out of memory beside others; it is run again, alone"
            yield Notice(f"{ended.job.name}: {why}")
            return
        result = replace(result, seconds=ended.seconds)
        yield Ended(ended.job, artifacts.with_files(ended.job, result))
        artifacts.remove(ended.job)

    try:
        while waiting or running or again:
            if not waiting and not running:  # one of these at a time
                start(again.popleft())
            while waiting and len(running) < limits.jobs:
                job = waiting.popleft()
                start(job)
                yield Started(job)
            patience = None
            if limits.timeout is not None:  # until the first will have taken too long
                longest = max(each.seconds for each in running.values())
                patience = max(0.0, limits.timeout - longest) + 0.01
            stopped: StoppedError | None = None
            for ready in connection.wait(list(running), patience):
                pipe = cast(connection.Connection, ready)
                try:
                    item = running[pipe].worker.receive()
                except JobError as failure:
                    item = failure.result()
                except StoppedError as error:  # raised after what others have finished
                    stopped = error
                    continue
                if isinstance(item, Step):
                    yield Advanced(running[pipe].job, item)
                else:
                    yield from end(pipe, item)
            if stopped is not None:
                raise stopped
            if limits.timeout is not None:
                for pipe, each in list(running.items()):
                    # What has said something since, such as its result, is heard first.
                    if each.seconds > limits.timeout and not pipe.poll():
                        yield from end(pipe, timeout(limits.timeout).result())
    finally:
        for each in running.values():
            each.worker.stop()
