"""A cost job: models measured in turns within one process, and once more in another.

The coordinating process imports no torch, and waits while anything is timed.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from zoo.execution.base import OUTPUT, CostJob, CostMember, Limits, Result, Step
from zoo.execution.failures import JobError
from zoo.execution.machine import own_cores
from zoo.execution.process import Worker
from zoo.measure.turns import (
    FIRST,
    HALF,
    MOST_BLOCKS,
    NARROW,
    Pair,
    clock_of,
    narrow_enough,
    ratios_of,
    summarise,
)
from zoo.registry.cell import model_name

STEPS = "zoo.execution.cost_steps"
PROCESSES = 2
MOST_SECONDS = 30.0  # of a process, once it has its least blocks


@dataclass(eq=False)
class _Measured:
    """A member and what is known of it so far.

    turns: as ``measure.turns`` has them. crowded: it failed for lack of memory beside others.
    """

    member: CostMember
    clock: str
    properties: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    turns: dict[str, dict[str, list[list[float]]]] = field(default_factory=dict)
    failure: Result | None = None
    crowded: bool = False

    def add(self, process: int, phase: str, pair: Pair) -> None:
        """Add the seconds of a step in a turn."""
        for clock, seconds in zip(("wall", "cpu"), pair, strict=True):
            processes = self.turns.setdefault(phase, {}).setdefault(clock, [])
            processes += [[] for _ in range(process + 1 - len(processes))]
            processes[process].append(float(f"{seconds:.5g}"))


def measure(job: CostJob, directory: Path, limits: Limits) -> Iterator[Step | Result]:
    """Measure the memory of all members, then their speeds in two processes.

    A member that fails is its own result and does not stop the others. One that lacks memory beside
    others is measured once more with the reference alone.
    """
    clock = clock_of(job.setup.execution.device, limits.threads)
    group = [_Measured(member, clock) for member in job.members]
    log = directory / OUTPUT
    _measure_memory(job, group, limits, log)
    yield from _speeds(job, group, limits, log)
    results = _results(group)
    for place, each in enumerate(group):
        if each.crowded and len(group) > 2:
            pair = [_Measured(m.member, clock, memory=m.memory) for m in (group[0], each)]
            yield from _speeds(job, pair, limits, log)
            results[place] = _results(pair)[1]
    yield Result(members=tuple(results))


def _speeds(
    job: CostJob, group: Sequence[_Measured], limits: Limits, log: Path
) -> Iterator[Step | Result]:
    """Measure the speeds of these in turns, in one process after another."""
    done = 0
    for process in range(PROCESSES):
        worker: Worker | None = None
        start, number = monotonic(), 0
        try:
            while _goes_on(job, group, process, number, monotonic() - start):
                if worker is None or not worker.alive:
                    worker = _prepared(job, group, limits, log)
                elif _block(worker, group, process, number, limits):
                    number, done = number + 1, done + 1
                    yield Step(done, job.blocks or MOST_BLOCKS)
        finally:
            if worker is not None:
                worker.stop()


def _measure_memory(job: CostJob, group: Sequence[_Measured], limits: Limits, log: Path) -> None:
    """The peaks of every member, each in a process of its own, as many at once as there are cores.

    One that lacks memory beside others is measured once more, alone.
    """
    on_cpu = job.setup.execution.device == "cpu"
    at_once = max(1, own_cores() // limits.threads) if on_cpu else 1
    for start in range(0, len(group), at_once):
        _measure_beside(job, group[start : start + at_once], limits, log)
    for each in group if at_once > 1 else ():
        if each.failure is not None and each.failure.status == "oom":
            each.failure = None
            _measure_beside(job, [each], limits, log)


def _measure_beside(job: CostJob, group: Sequence[_Measured], limits: Limits, log: Path) -> None:
    """The peaks of some members at once."""
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(Worker(limits, log)) for _ in group]
        for each, worker in zip(group, workers, strict=True):
            worker.send(f"{STEPS}:memory", job.setup, each.member)
        for each, worker in zip(group, workers, strict=True):
            try:
                each.memory = worker.result(limits.timeout)
            except JobError as failure:
                each.failure = failure.result()


def _goes_on(
    job: CostJob, group: Sequence[_Measured], process: int, number: int, seconds: float
) -> bool:
    """Whether the process has another block after so many, which took so many seconds."""
    timed = [vars(each) for each in group if each.failure is None]
    most = ((job.blocks or MOST_BLOCKS) + 1 - process) // PROCESSES
    if not timed or number >= most:
        return False
    if number < HALF:
        return True
    if not job.blocks and seconds > MOST_SECONDS:
        return False
    narrow = NARROW if job.blocks else FIRST
    return not narrow_enough(ratios_of(timed[0], timed[1:]), PROCESSES, narrow)


def _prepared(job: CostJob, group: Sequence[_Measured], limits: Limits, log: Path) -> Worker | None:
    """Start a process and build every model in it. Return None if all fail.

    A model that ends the process fails, and the others are built in a new one. What has no memory
    beside others is crowded.
    """
    while any(each.failure is None for each in group):
        worker, ready = Worker(limits, log), 0
        for place, each in enumerate(group):
            if each.failure is not None:
                continue
            try:
                arguments = job.setup, place, each.member
                properties = worker.call(f"{STEPS}:prepare", *arguments, seconds=limits.timeout)
            except JobError as failure:
                each.failure = failure.result()
                each.crowded = failure.status == "oom" and ready > 0
                if not worker.alive:
                    break
            else:
                ready += 1
                each.properties = each.properties or properties
        else:
            if ready:
                return worker
        worker.stop()
    return None


def _block(
    worker: Worker, group: Sequence[_Measured], process: int, number: int, limits: Limits
) -> bool:
    """Give each that has not failed its turns in block ``number``. Return whether all had them.

    Where one fails, its failure is noted and the block counts for none.
    """
    places = [place for place, each in enumerate(group) if each.failure is None]
    pairs: list[tuple[_Measured, str, Pair]] = []
    current = group[places[0]]
    worker.send(f"{STEPS}:block", process * HALF + number, places)
    try:
        for phase, place, pair in worker.items(limits.timeout):
            current = group[place]
            if pair is not None:
                pairs.append((current, phase, pair))
    except JobError as failure:
        current.failure = failure.result()
        return False
    for each, phase, pair in pairs:
        each.add(process, phase, pair)
    return True


def _results(group: Sequence[_Measured]) -> list[Result]:
    """The result of each of these, with the turns of the first, their reference."""
    session, reference = uuid.uuid4().hex[:12], group[0]
    results = []
    for each in group:
        if each.failure is not None:
            results.append(replace(each.failure, seconds=0.0))
            continue
        samples = {
            "session": session,
            "clock": each.clock,
            "properties": each.properties,
            "memory": each.memory,
            "turns": each.turns,
            "reference": {
                "name": model_name(reference.member.model),
                "clock": reference.clock,
                "properties": {"batches": reference.properties.get("batches", [])},
                "turns": reference.turns,
            },
        }
        results.append(Result(metrics=summarise(samples), samples=samples))
    return results
