"""Trials in worker processes, some at once or seeds together where that was asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from multiprocessing import connection
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.harness import keeping
from zoo.harness.jobs import Setting, Together, Trial
from zoo.harness.plan import Planned
from zoo.harness.process import Worker, WorkerError
from zoo.harness.progress import Progress
from zoo.harness.records import Status, digest


@dataclass(frozen=True)
class TrialTask:
    """A row to train with a seed, and the key its record will have.

    apart: why it is trained by itself, where it was to be with the row's other seeds.
    """

    row: Planned
    seed: int
    key: str
    apart: str = ""

    @property
    def label(self) -> str:
        """What progress calls it."""
        return f"{self.row.name} seed {self.seed}"


@dataclass(frozen=True)
class TrialOutcome:
    """How a trial ended; seconds: from its start to its end, set-up included."""

    task: TrialTask
    status: Status
    reason: str
    result: dict[str, Any] | None
    seconds: float


@dataclass(frozen=True)
class _Job:
    """What one worker is given: a trial, or several seeds of one row."""

    tasks: tuple[TrialTask, ...]

    @property
    def label(self) -> str:
        """What progress calls it."""
        if len(self.tasks) == 1:
            return self.tasks[0].label
        seeds = ", ".join(str(task.seed) for task in self.tasks)
        return f"{self.tasks[0].row.name} seeds {seeds}"

    @property
    def key(self) -> str:
        """What its checkpoint is called."""
        keys = [task.key for task in self.tasks]
        return keys[0] if len(keys) == 1 else digest(keys)

    def send(self, worker: Worker, setting: Setting, checkpoint: str) -> None:
        """Have a worker begin."""
        first = self.tasks[0]
        if len(self.tasks) == 1:
            worker.send("trial", Trial(setting, first.row.subject, first.seed, checkpoint))
        else:
            seeds = tuple(task.seed for task in self.tasks)
            worker.send("together", Together(setting, first.row.subject, seeds, checkpoint))

    def apart(self, reason: str) -> list[_Job]:
        """The same work, seed by seed."""
        return [_Job((replace(task, apart=reason),)) for task in self.tasks]


@dataclass
class _Active:
    """A job that is being done; limit: seconds that it may take."""

    job: _Job
    worker: Worker
    started: float
    limit: float | None


def run_trials(
    tasks: Sequence[TrialTask],
    *,
    setting: Setting,
    jobs: int,
    timeout: float | None,
    checkpoints: Path,
    log: Path,
    progress: Progress,
    done: Callable[[TrialOutcome], None],
    together: bool = False,
) -> None:
    """Run every trial, ``jobs`` at once, and call ``done`` as each ends.

    timeout: seconds that one trial may take. Whatever goes wrong in a trial is its outcome.
    together: train the seeds of a row at once; where that fails, each by itself.
    """
    waiting = list(reversed(_by_row(tasks) if together else [_Job((task,)) for task in tasks]))
    active: dict[connection.Connection, _Active] = {}

    def start(job: _Job) -> None:
        worker = Worker(setting.threads, log, setting.memory_limit)
        job.send(worker, setting, str(keeping.checkpoint_file(checkpoints, job.key)))
        limit = None if timeout is None else timeout * len(job.tasks)
        active[worker.waitable] = _Active(job, worker, time.monotonic(), limit)
        for task in job.tasks:
            progress.started(task.label, setting.training.epochs)

    def close(one: _Active) -> None:
        del active[one.worker.waitable]
        one.worker.stop()

    def end(one: _Active, outcomes: Sequence[tuple[Status, str, Any]]) -> None:
        close(one)
        seconds = time.monotonic() - one.started
        for task, outcome in zip(one.job.tasks, outcomes, strict=True):
            done(TrialOutcome(task, *outcome, seconds))
        keeping.discard(keeping.checkpoint_file(checkpoints, one.job.key))
        for task, outcome in zip(one.job.tasks, outcomes, strict=True):
            progress.ended(task.label, *outcome)

    def fail(one: _Active, status: Status, reason: str) -> None:
        """A trial's end; seeds together may each get through by themselves."""
        if len(one.job.tasks) == 1:
            end(one, [(status, reason, None)])
        else:
            split(one, f"{status}: {reason}")

    def split(one: _Active, reason: str) -> None:
        close(one)
        keeping.discard(keeping.checkpoint_file(checkpoints, one.job.key))
        progress.notice(f"{one.job.label}: one by one: {reason}")
        waiting.extend(reversed(one.job.apart(reason)))

    try:
        while waiting or active:
            while waiting and len(active) < jobs:
                start(waiting.pop())
            for pipe in connection.wait(list(active), _patience(active.values())):
                one = active[pipe]  # type: ignore[index]
                try:
                    kind, body = one.worker.receive()
                except WorkerError as failure:
                    fail(one, failure.status, failure.reason)
                except ZooError as error:
                    fail(one, "crashed", str(error))
                else:
                    if kind != "result":
                        for task in one.job.tasks:
                            progress.epoch(task.label, body["epoch"], body["loss"])
                    elif len(one.job.tasks) == 1:
                        end(one, [("ok", "", body)])
                    elif "apart" in body:
                        split(one, body["apart"])
                    else:
                        end(one, [(s["status"], s["reason"], s["result"]) for s in body["seeds"]])
            for one in list(active.values()):
                if one.limit is not None and time.monotonic() - one.started > one.limit:
                    late: tuple[Status, str, Any] = "timeout", _too_long(one), None
                    end(one, [late] * len(one.job.tasks))
    finally:
        for one in active.values():
            one.worker.stop()


def _too_long(one: _Active) -> str:
    seeds = len(one.job.tasks)
    return f"took longer than {one.limit:g} s" + (f", {seeds} seeds together" * (seeds > 1))


def _by_row(tasks: Sequence[TrialTask]) -> list[_Job]:
    """All seeds of a row as one job, in the order in which the rows come first."""
    rows: dict[str, list[TrialTask]] = {}
    for task in tasks:
        rows.setdefault(task.row.name, []).append(task)
    return [_Job(tuple(seeds)) for seeds in rows.values()]


def _patience(active: Iterable[_Active]) -> float | None:
    """Seconds until the first of the active jobs will have taken too long."""
    ends = [one.started + one.limit for one in active if one.limit is not None]
    return max(0.0, min(ends) - time.monotonic()) + 0.01 if ends else None
