"""A cost job: some models measured in turns, in processes of their own, with nothing else running.

The coordinating process does no arithmetic and imports no torch.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zoo.execution.base import CostJob, CostMember, Limits, Result, Step
from zoo.execution.local import Call, run_calls
from zoo.execution.machine import own_cores
from zoo.execution.process import Worker
from zoo.execution.run_job import JobError
from zoo.measure.round_ratios import narrow_enough, ratios_of, summarise

ROUND_SECONDS = 1.0  # most time of one model in one round
STEPS = "zoo.execution.cost_steps"


@dataclass
class _Measured:
    """A member and what is known of it so far."""

    member: CostMember
    worker: Worker | None = None
    properties: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    step_seconds: float | None = None
    rounds: list[dict[str, Any]] = field(default_factory=list)
    failure: JobError | None = None

    def answer(self, limits: Limits, step: str = "", *arguments: Any) -> Any:
        """What a step in its process returns, or the one that was sent; None where it fails.

        The failure is the member's own.
        """
        assert self.worker is not None
        try:
            if step:
                self.worker.send(f"{STEPS}:{step}", *arguments)
            return self.worker.returned(limits.timeout)
        except JobError as failure:
            self.failure = failure
            self.worker.stop()
            return None


def measure(job: CostJob, directory: Path, limits: Limits) -> Iterator[Step | Result]:
    """Prepare all members, then measure them in turns, round by round, in rotating order.

    A member that fails is its own result and does not stop the others.
    """
    log = directory / "output.log"
    group = [_Measured(member) for member in job.members]
    try:
        environment, rate = _machine(job, limits, log)
        _measure_memory(job, group, limits, log)
        able = _prepared(job, group, limits, log)
        steps = _steps(able)
        for number in range(job.rounds if able else 0):
            turn = number % len(able)
            for one in able[turn:] + able[:turn]:
                if one.failure is None and (found := one.answer(limits, "measure_round", steps)):
                    one.rounds.append(found)
            yield Step(number + 1, job.rounds)
            if job.least_rounds and number + 1 >= job.least_rounds and _known(group):
                break
    finally:
        for one in group:
            if one.worker is not None:
                one.worker.stop()
    session = uuid.uuid4().hex[:12]
    results = tuple(_result(one, group, session, rate, environment) for one in group)
    yield Result(members=results, environment=environment)


def _measure_memory(job: CostJob, group: Sequence[_Measured], limits: Limits, log: Path) -> None:
    """The peaks of every member but the twin, each in a process of its own.

    On the CPU as many run at once as there are cores, each with its share of the threads: the peak
    of a process does not depend on what else runs. One that runs out of memory beside others is
    measured again alone. On other devices one runs at a time.
    """
    measured = [one for one in group if not one.member.twin]
    at_once = 1
    if measured and job.setup.execution.device == "cpu":
        at_once = min(own_cores(), len(measured))
    calls = [Call(one, f"{STEPS}:memory", (job.setup, one.member), log) for one in measured]
    own = replace(limits, threads=max(1, limits.threads // at_once))
    with contextlib.closing(run_calls(calls, own, at_once)) as events:
        for call, kind, found in events:
            if kind == "ended" and isinstance(found, JobError):
                call.of.failure = found
            elif kind == "ended":
                call.of.memory = found


def _known(group: Sequence[_Measured]) -> bool:
    """Whether more rounds would tell little of how fast each is, compared with the first."""
    if group[0].failure is not None:
        return False
    reference, *others = (vars(one) for one in group if one.failure is None)
    return narrow_enough(ratios_of(reference, others))


def _machine(job: CostJob, limits: Limits, log: Path) -> tuple[dict[str, Any], float | None]:
    """The environment, and the rate of a matrix product in FLOP/s (None: not measured)."""
    with Worker(limits, log) as worker:
        environment: dict[str, Any] = worker.call(f"{STEPS}:describe", job.setup)
        if not job.matrix_rate:
            return environment, None
        try:
            rate: float = worker.call(f"{STEPS}:matrix_rate", job.setup)
        except JobError:
            return environment, None
    return environment, rate


def _prepared(
    job: CostJob, group: Sequence[_Measured], limits: Limits, log: Path
) -> list[_Measured]:
    """Start the processes that the rounds will use; which members are ready for them.

    On the CPU several prepare at once, as nothing is timed then but compilation.
    """
    waiting = [one for one in group if one.failure is None]
    execution = job.setup.execution
    at_once = own_cores() if execution.device == "cpu" and not execution.compile else 1
    for first in range(0, len(waiting), at_once):
        together = waiting[first : first + at_once]
        for one in together:
            one.worker = Worker(limits, log)
            one.worker.send(f"{STEPS}:prepare", job.setup, one.member, len(together))
        for one in together:
            one.properties = one.answer(limits)
    for one in waiting:
        if one.failure is None:
            one.step_seconds = one.answer(limits, "warm_up")
        if execution.compile and one.step_seconds is not None:
            beyond = one.properties["first_step_seconds"] - one.step_seconds
            one.properties["compile_seconds"] = max(0.0, beyond)
    return [one for one in waiting if one.failure is None]


def _steps(able: Sequence[_Measured]) -> int:
    """Batches of a round: as many for each as the slowest can do in its time, at least one."""
    times = [one.step_seconds for one in able if one.step_seconds is not None]
    return max(1, int(ROUND_SECONDS / max(times))) if times else 1


def _result(
    one: _Measured,
    group: Sequence[_Measured],
    session: str,
    rate: float | None,
    environment: dict[str, Any],
) -> Result:
    """A member's result; reference and twin, if there are any, are the group's first two."""
    if one.failure is not None:
        failure = one.failure
        return Result(failure.status, failure.reason, failure.traceback, environment=environment)
    if one.member.twin:
        return Result(environment=environment)
    samples = {
        "session": session,
        "properties": one.properties,
        "memory": one.memory,
        "rounds": one.rounds,
        "matrix_rate": rate,
    }
    if len(group) > 1 and group[1].member.twin:
        reference, twin = group[0], group[1]
        samples["reference"] = {
            "name": reference.member.model.name,
            "rounds": reference.rounds,
        }
        samples["twin"] = {"rounds": twin.rounds}
    return Result(metrics=summarise(samples), samples=samples, environment=environment)
