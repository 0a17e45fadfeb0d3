"""Training jobs in worker processes, several at once where that was asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.execution import keeping
from zoo.execution.base import Setting, Trial
from zoo.execution.process import Worker, WorkerError
from zoo.sweep.plan import Planned
from zoo.sweep.progress import Progress
from zoo.sweep.records import Status


@dataclass(frozen=True)
class TrialTask:
    """A row to train with a seed, and the key its record will have."""

    row: Planned
    seed: int
    key: str

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


@dataclass
class _Active:
    """A trial that is being done."""

    task: TrialTask
    worker: Worker
    started: float


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
) -> None:
    """Run every trial, ``jobs`` at once, and call ``done`` as each ends.

    timeout: seconds that one trial may take. Whatever goes wrong in a trial is its outcome.
    """
    waiting = list(reversed(tasks))
    active: dict[connection.Connection, _Active] = {}

    def start(task: TrialTask) -> None:
        worker = Worker(setting.threads, log, setting.memory_limit)
        file = str(keeping.checkpoint_file(checkpoints, task.key))
        worker.send("trial", Trial(setting, task.row.subject, task.seed, file))
        active[worker.waitable] = _Active(task, worker, time.monotonic())
        progress.started(task.label, setting.training.epochs)

    def end(one: _Active, status: Status, reason: str, body: Any) -> None:
        del active[one.worker.waitable]
        one.worker.stop()
        done(TrialOutcome(one.task, status, reason, body, time.monotonic() - one.started))
        keeping.discard(keeping.checkpoint_file(checkpoints, one.task.key))
        progress.ended(one.task.label, status, reason, body)

    try:
        while waiting or active:
            while waiting and len(active) < jobs:
                start(waiting.pop())
            for pipe in connection.wait(list(active), _patience(active.values(), timeout)):
                one = active[pipe]  # type: ignore[index]
                try:
                    kind, body = one.worker.receive()
                except WorkerError as failure:
                    end(one, failure.status, failure.reason, None)
                except ZooError as error:
                    end(one, "crashed", str(error), None)
                else:
                    if kind != "result":
                        progress.epoch(one.task.label, body["epoch"], body["loss"])
                    else:
                        end(one, "ok", "", body)
            for one in list(active.values()):
                if timeout is not None and time.monotonic() - one.started > timeout:
                    end(one, "timeout", f"took longer than {timeout:g} s", None)
    finally:
        for one in active.values():
            one.worker.stop()


def _patience(active: Iterable[_Active], timeout: float | None) -> float | None:
    """Seconds until the first of the active trials will have taken too long."""
    if timeout is None:
        return None
    return max(0.0, min(one.started for one in active) + timeout - time.monotonic()) + 0.01
