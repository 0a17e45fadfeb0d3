"""A cost job: models measured in turns within one process, several times anew.

The coordinating process imports no torch, and waits while anything is timed.
"""

from __future__ import annotations

import contextlib
import math
import time
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
from zoo.measure.turns import (
    HALF,
    LEAST_BLOCKS,
    MOST_BLOCKS,
    NEAR,
    QUIET,
    Pair,
    centre_and_error,
    clock_of,
    contention,
    narrow_enough,
    ratios_of,
    summarise,
)
from zoo.registry.cell import model_name

STEPS = "zoo.execution.cost_steps"
PROCESSES = 2  # and a third for what is near the reference
MOST_SECONDS = 30.0  # of a process, once it has its least blocks


@dataclass(eq=False)
class _Measured:
    """A member and what is known of it so far.

    turns: as ``measure.turns`` has them. chosen: by a baseline, on its training texts.
    crowded: it failed for lack of memory beside others.
    """

    member: CostMember
    clock: str
    properties: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    chosen: Any = None
    turns: dict[str, dict[str, list[list[float]]]] = field(default_factory=dict)
    failure: JobError | None = None
    crowded: bool = False

    @property
    def fits(self) -> bool:
        """Whether it is a baseline that fits itself."""
        return "infer_batches" in self.properties

    def add(self, process: int, phase: str, pair: Pair) -> None:
        """Add the seconds of a step in a turn."""
        for clock, seconds in zip(("wall", "cpu"), pair, strict=True):
            of = self.turns.setdefault(phase, {}).setdefault(clock, [])
            of += [[] for _ in range(process + 1 - len(of))]
            of[process].append(float(f"{seconds:.5g}"))


def measure(job: CostJob, directory: Path, limits: Limits) -> Iterator[Step | Result]:
    """Measure the memory of all members, then their speeds in two or three processes.

    A member that fails is its own result and does not stop the others.
    """
    log = directory / "output.log"
    clock = clock_of(job.setup.execution.device, limits.threads)
    group = [_Measured(member, clock) for member in job.members]
    environment, rate = _machine(job, limits, log)
    _measure_memory(job, group, limits, log)
    done = 0
    for process in range(PROCESSES + 1):
        # A turn of a baseline is a whole fit, and its ratio is far from 1: one process is enough.
        together = [one for one in group if not (process and one.fits)]
        if process == PROCESSES:
            together = _near(job, together)
        for _ in _blocks(job, together, process, limits, log):
            done += 1
            yield Step(done, max(done, job.blocks or LEAST_BLOCKS))
    session = uuid.uuid4().hex[:12]
    results = [_result(one, group, session, rate, environment, job.threads) for one in group]
    crowded = [place for place, one in enumerate(group) if one.crowded]
    if crowded and len(crowded) < len(group) - 1:
        others = tuple(one.member for one in group if one.member.twin or one.crowded)
        for item in measure(replace(job, members=(group[0].member, *others)), directory, limits):
            if isinstance(item, Result):
                for place, found in zip(crowded, item.members[-len(crowded) :], strict=True):
                    results[place] = found
    yield Result(members=tuple(results), environment=environment)


def _near(job: CostJob, group: Sequence[_Measured]) -> list[_Measured]:
    """Reference and twin with the models that are about as fast; empty where none is."""
    if job.blocks or not group or group[0].failure is not None:
        return []
    reference, *others = group
    found = [reference]
    for one in others:
        ratios = [logs for logs in ratios_of(vars(reference), [vars(one)]) if logs]
        centres = [centre_and_error(logs)[0] for logs in ratios if one.failure is None]
        if one.member.twin or any(abs(math.expm1(centre)) < NEAR for centre in centres):
            found.append(one)
    return found if any(not one.member.twin for one in found[1:]) else []


def _blocks(
    job: CostJob, group: Sequence[_Measured], process: int, limits: Limits, log: Path
) -> Iterator[None]:
    """Measure these together in a process, and yield after each block."""
    worker: Worker | None = None
    start, number, threaded = time.monotonic(), 0, 0
    try:
        while able := [one for one in group if one.failure is None]:
            goes_on = _goes_on(job, able, process, number, time.monotonic() - start)
            if not goes_on and not (job.threads and threaded < number and _quiet(able)):
                break
            if worker is None or not worker.alive:
                worker = _prepared(job, group, limits, log)
            elif goes_on:
                turning = [one for one in able if not one.fits or number < HALF]
                if _block(worker, group, turning, (process, number), limits):
                    number += 1
                    yield
            else:
                turning = [one for one in able if not one.fits]
                at = process, threaded
                threaded += _block(worker, group, turning, at, limits, job.threads)
    finally:
        if worker is not None:
            worker.stop()


def _goes_on(
    job: CostJob, able: Sequence[_Measured], process: int, number: int, seconds: float
) -> bool:
    """Whether the process has another block after so many, which took so many seconds."""
    if job.blocks:
        return number < (job.blocks + 1 - process) // PROCESSES
    if number < HALF or process == PROCESSES:
        return number < HALF
    if number >= MOST_BLOCKS // PROCESSES or seconds > MOST_SECONDS:
        return False
    reference, *others = (vars(one) for one in able if not one.fits)
    return not narrow_enough(ratios_of(reference, others), PROCESSES)


def _quiet(able: Sequence[_Measured]) -> bool:
    """Whether nothing else had the cores while these had their turns."""
    return all(contention(vars(one)) < QUIET for one in able)


def _prepared(job: CostJob, group: Sequence[_Measured], limits: Limits, log: Path) -> Worker | None:
    """A process in which all these are ready, but for those that then have failed; None: all have.

    What has no memory beside others is crowded, and measured with fewer.
    """
    while any(one.failure is None for one in group):
        worker, ready = Worker(limits, log), 0
        for place, one in enumerate(group):
            if one.failure is not None:
                continue
            try:
                arguments = job.setup, place, one.member, one.chosen
                found = worker.call(f"{STEPS}:prepare", *arguments, seconds=limits.timeout)
            except JobError as failure:
                one.failure = failure
                one.crowded = failure.status == "oom" and ready > 0 and not one.member.twin
                if not worker.alive:
                    break
            else:
                ready += 1
                one.properties = one.properties or found
        else:
            if ready:
                return worker
        worker.stop()
    return None


def _block(
    worker: Worker,
    group: Sequence[_Measured],
    turning: Sequence[_Measured],
    at: tuple[int, int],
    limits: Limits,
    threads: int = 0,
) -> bool:
    """Give each of these its turns; whether all had them: what fails has failed, and none counts.

    at: process and number of the block.
    """
    process, number = at
    places = [place for place, one in enumerate(group) if one in turning]
    found: list[tuple[_Measured, str, Pair]] = []
    current = turning[0]
    worker.send(f"{STEPS}:block", process * HALF + number, places, threads)
    try:
        for kind, body in worker.answers(limits.timeout):
            if kind == "yielded":
                phase, place, pair = body
                current = group[place]
                if pair is not None:
                    found.append((current, f"{phase}_threads" if threads else phase, pair))
    except JobError as failure:
        current.failure = failure
        return False
    for one, phase, pair in found:
        one.add(process, phase, pair)
    return True


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
                call.of.memory, call.of.chosen = found


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


def _result(
    one: _Measured,
    group: Sequence[_Measured],
    session: str,
    rate: float | None,
    environment: dict[str, Any],
    threads: int,
) -> Result:
    """A member's result; reference and twin, if there are any, are the group's first two."""
    if one.failure is not None:
        failure = one.failure
        return Result(failure.status, failure.reason, failure.traceback, environment=environment)
    if one.member.twin:
        return Result(environment=environment)
    samples = {
        "session": session,
        "clock": one.clock,
        "properties": one.properties,
        "memory": one.memory,
        "turns": one.turns,
        "matrix_rate": rate,
        "threads": threads,
    }
    if len(group) > 1 and group[1].member.twin:
        reference, twin = group[0], group[1]
        samples["reference"] = {
            "name": model_name(reference.member.model),
            "clock": one.clock,
            "properties": {"batches": reference.properties.get("batches", [])},
            "turns": reference.turns,
        }
        samples["twin"] = {"turns": twin.turns}
    return Result(metrics=summarise(samples), samples=samples, environment=environment)
