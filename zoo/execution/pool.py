"""Some calls at once, each in a worker process of its own."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any

from zoo.execution import failures
from zoo.execution.base import Limits, Result
from zoo.execution.process import Worker


@dataclass(frozen=True)
class Call:
    """A function (``"module:name"``) and its arguments. of: what the caller knows it by.

    log: the file that receives what the process prints.
    """

    of: Any
    function: str
    arguments: tuple[Any, ...]
    log: Path


@dataclass(frozen=True)
class Began:
    """The call has a process now."""


@dataclass(frozen=True)
class Again:
    """It ran out of memory while others ran; it is made once more, alone, after all others."""


@dataclass(frozen=True)
class Done:
    """The call has ended: what it returned, or its last item where that is a Result, or a failure.

    seconds: since it began.
    """

    value: Any
    seconds: float


@dataclass
class _Active:
    call: Call
    worker: Worker
    started: float
    shares: bool  # the machine with others, or did at any time


def run_calls(
    calls: Iterable[Call], limits: Limits, at_once: int
) -> Generator[tuple[Call, Began | Again | Done | Any]]:
    """Make the calls, so many at once, and yield what happens and what the functions yield.

    Every call has one Done, whose value is a JobError where it failed, took longer than
    ``limits.timeout`` or died. Closing the iterator stops the processes.
    """
    waiting, again, alone = iter(calls), list[Call](), False
    following = next(waiting, None)
    active: dict[connection.Connection, _Active] = {}

    def end(one: _Active, value: Any) -> tuple[Call, Again | Done]:
        del active[one.worker.waitable]
        one.worker.stop()
        if one.shares and getattr(value, "status", "") == "oom":
            again.append(one.call)
            return one.call, Again()
        return one.call, Done(value, time.monotonic() - one.started)

    try:
        while following or active or again:
            if not following and not active:
                following, at_once, alone = again.pop(0), 1, True
            while following and len(active) < at_once:
                worker = Worker(limits, following.log)
                worker.send(following.function, *following.arguments)
                one = _Active(following, worker, time.monotonic(), shares=False)
                active[worker.waitable] = one
                if len(active) > 1:
                    for each in active.values():
                        each.shares = True
                if not alone:
                    yield one.call, Began()
                following = next(waiting, None)
            for pipe in connection.wait(list(active), _patience(active, limits.timeout)):
                one = active[pipe]  # type: ignore[index]
                try:
                    kind, item = one.worker.receive()
                except failures.JobError as failure:
                    kind, item = "failed", failure
                if kind != "yielded" or isinstance(item, Result):
                    yield end(one, item)
                else:
                    yield one.call, item
            for one in list(active.values()):
                spent = time.monotonic() - one.started
                if limits.timeout is not None and spent > limits.timeout:
                    yield end(one, failures.timeout(limits.timeout))
    finally:
        for one in active.values():
            one.worker.stop()


def _patience(active: dict[connection.Connection, _Active], timeout: float | None) -> float | None:
    """Seconds until the first of the active calls will have taken too long."""
    if timeout is None:
        return None
    first = min(one.started for one in active.values())
    return max(0.0, first + timeout - time.monotonic()) + 0.01
