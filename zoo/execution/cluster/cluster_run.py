"""The jobs of one run on a cluster: from what slots and nodes report to events."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zoo.execution.artifacts import Artifacts
from zoo.execution.base import (
    CostJob,
    Ended,
    Event,
    InspectJob,
    Job,
    JobSetup,
    Limits,
    Notice,
    Progress,
    Result,
    Started,
)
from zoo.execution.cluster.data_delivery import DataDelivery
from zoo.execution.cluster.engine import Joined, Left, Listed, Report, Said
from zoo.execution.cluster.members import DESCRIBE, RUN, STORE, Member, Members, Slot, Task
from zoo.execution.cluster.node_facts import resolved
from zoo.execution.cluster.node_notices import NodeNotices
from zoo.execution.cluster.placement import Placement
from zoo.execution.cluster.slot_calls import unpacked
from zoo.execution.cluster.slot_work import Advanced, Begun, DataMissing, Finished
from zoo.execution.cluster.travelling_files import Directory

MOST_LOSSES = 3  # of a job, or times that a node lost slots, without a new checkpoint


@dataclass(frozen=True)
class Patience:
    """Seconds; see ``ClusterExecutor``."""

    silence: float
    describe: float
    wait: float


class ClusterRun:
    """Runs jobs that share their code and device."""

    def __init__(
        self,
        members: Members,
        setup: JobSetup,
        limits: Limits,
        artifacts: Artifacts,
        patience: Patience,
    ) -> None:
        self.members, self.setup, self.limits = members, setup, limits
        self.artifacts, self.patience = artifacts, patience
        self.placement = Placement(members, limits)
        self.notices = NodeNotices(members, self.placement, patience.wait)
        self.waiting: deque[Task] = deque()
        self.active: set[Task] = set()
        self.data = DataDelivery(members)

    def events(self, jobs: Sequence[Job]) -> Iterator[Event]:
        """Run the jobs; cost jobs after all others, each with a node for itself."""
        self.placement.inspecting = all(isinstance(job, InspectJob) for job in jobs)
        yield from self._until(self._described)
        described = [m.facts for m in self.members if m.facts and not m.problem]
        self.placement.execution = resolved(self.setup.execution, described)
        for member in self.members:
            yield from self._judge(member)
        for exclusive in (False, True):
            chosen = [job for job in jobs if isinstance(job, CostJob) == exclusive]
            self.placement.exclusive = exclusive
            self.waiting = deque(map(Task, chosen))
            yield from self._until(lambda: not self.waiting and not self.active)

    def stop(self) -> None:
        """End what is still running."""
        for slot in self.members.slots:
            if slot.task is not None:
                self.members.stop(slot)

    def _until(self, done: Callable[[], bool]) -> Iterator[Event]:
        while not done():
            self._place()
            for report in self.members.engine.receive(min(1.0, self.patience.silence / 4)):
                yield from self._heard(report)
            yield from self._silent()
            yield from self._undescribed()
            yield from self.notices.overdue()
            yield from self.notices.changed()
            yield from self.notices.left_alone()

    def _described(self) -> bool:
        """Whether all nodes have described themselves, or one has and the others are overdue."""
        if not self.members.listed:
            return False
        others = [member for member in self.members if not (member.facts or member.problem)]
        overdue = all(slot.overdue for member in others for slot in member.slots.values())
        return not others or (overdue and bool(self.placement.usable()))

    def _place(self) -> None:
        """Have new nodes describe themselves, and give idle slots their tasks."""
        for member in self.members:
            if member.facts or member.problem or member.doing(DESCRIBE):
                continue
            idle = [slot for slot in member.slots.values() if slot.idle]
            if idle:
                self.members.call(idle[0], DESCRIBE, self.setup.code, self.limits.threads)
            elif not member.slots:
                self.members.open(member, self.placement.claim(member))
        if self.waiting:
            self.placement.prepare(len(self.waiting))
            for slot, task in list(self.placement.assignments(self.waiting)):
                self.waiting.remove(task)
                self.active.add(task)
                slot.task = task
                self._give(slot, task)

    def _give(self, slot: Slot, task: Task) -> None:
        """Have a slot run its task."""
        facts, execution = slot.member.facts, self.placement.execution
        assert facts is not None
        assert execution is not None
        task.directory = Directory(self.artifacts.of(task.job))
        slot.lacks_data = False
        setup = replace(task.job.setup, execution=execution)
        self.members.call(
            slot,
            RUN,
            replace(task.job, setup=setup),
            self.limits,
            slot.member.name,
            facts.environment(execution),
            task.directory.changed(),
            self.data.digest(setup),
        )

    def _heard(self, report: Report) -> Iterator[Event]:
        if isinstance(report, Listed):
            self.members.listed = True
        elif isinstance(report, Joined):
            self.members.join(report.node)
        elif isinstance(report, Left):
            member = self.members.by_id.pop(report.node, None)
            if member is not None:
                yield from self.notices.gone(member)
                slots = list(member.slots.values())
                for lost in slots:
                    self.members.stop(lost)
                for lost in slots:
                    yield from self._lose(lost, report.reason)
        elif (slot := self.members.slot(report.slot)) is not None:
            if isinstance(report, Said):
                slot.heard = time.monotonic()
                if slot.member.begun is None:
                    slot.member.begun = slot.heard
                yield from self._said(slot, *unpacked(report.message))
            elif report.out_of_memory and slot.task is not None:
                self._gone(slot)
                environment = self._environment(slot.member)
                yield from self._end(slot, Result("oom", report.reason, environment=environment))
            else:
                yield from self._lose(slot, report.reason)

    def _said(self, slot: Slot, kind: str, body: Any) -> Iterator[Event]:
        """A message of a slot; see ``slot_calls``."""
        if kind == "yielded" and slot.task is not None:
            yield from self._yielded(slot, slot.task, body)
        elif kind == "returned":
            done, slot.doing = slot.doing, ""
            yield from self._returned(slot, done, body)
        elif kind == "failed" and slot.doing == DESCRIBE:
            slot.member.problem = body
            yield from self._left_out(slot.member)
        elif kind == "failed":
            self.members.stop(slot)
            yield from self._lose(slot, body)

    def _yielded(self, slot: Slot, task: Task, body: Any) -> Iterator[Event]:
        """The task of a slot has come further."""
        assert task.directory is not None
        if isinstance(body, Begun):
            yield from self._started(task, slot.member.name)
        elif isinstance(body, DataMissing):
            slot.lacks_data = True
        elif isinstance(body, Advanced):
            if body.files:
                task.directory.receive(body.files)
                task.losses = slot.member.incidents = 0
            yield Progress(task.job, body.step)
        elif isinstance(body, Finished):
            task.directory.receive(body.files)
            yield from self._end(slot, body.result)

    def _returned(self, slot: Slot, done: str, body: Any) -> Iterator[Event]:
        """A slot has carried out a call."""
        if done == DESCRIBE:
            slot.member.facts = body
            yield from self._judge(slot.member)
        elif done == STORE:
            for waiting in self.data.stored(slot):
                assert waiting.task is not None
                self._give(waiting, waiting.task)
        elif done == RUN and slot.lacks_data and slot.task is not None:
            yield from self._without_data(slot, slot.task)

    def _without_data(self, slot: Slot, task: Task) -> Iterator[Event]:
        """The node of a slot lacks the data of its task."""
        task.fetched += 1
        if task.fetched > MOST_LOSSES:
            self.members.stop(slot)
            yield from self._lose(slot, "its cache does not keep the data")
        elif self.data.ask(slot):
            self._give(slot, task)

    def _judge(self, member: Member) -> Iterator[Event]:
        """Leave a node out that cannot run these jobs."""
        execution = self.placement.execution or self.setup.execution
        if member.facts is None or member.problem:
            return
        member.problem = member.facts.unfit(execution)
        if member.problem:
            yield from self._left_out(member)

    def _left_out(self, member: Member) -> Iterator[Event]:
        for slot in list(member.slots.values()):
            self.members.stop(slot)
            if slot.task is not None:
                self._again(slot.task)
        yield from self.notices.gone(member)
        yield Notice(f"{member.name} is left out: {member.problem}")

    def _end(self, slot: Slot, result: Result) -> Iterator[Event]:
        task, slot.task = slot.task, None
        assert task is not None
        slot.member.done += 1
        slot.member.incidents = 0
        if isinstance(task.job, InspectJob) and self.members.reference is None:
            self.members.reference = result.environment or None
        if isinstance(task.job, CostJob) and (nice := result.environment.get("nice")):
            yield Notice(
                f"{slot.member.name} measured at niceness {nice}: others there come first, "
                "and it may not change that itself"
            )
        yield from self._ended(task, result, slot.member.name)

    def _started(self, task: Task, node: str) -> Iterator[Event]:
        """A job that goes on elsewhere does not start twice."""
        if not task.started:
            task.started = True
            yield Started(task.job, node)

    def _ended(self, task: Task, result: Result, node: str) -> Iterator[Event]:
        self.active.discard(task)
        yield from self._started(task, node)
        yield Ended(task.job, self.artifacts.with_files(task.job, result), node)
        self.artifacts.remove(task.job)

    def _again(self, task: Task) -> None:
        """Put a task back, before all others."""
        self.active.discard(task)
        self.waiting.appendleft(task)

    def _gone(self, slot: Slot) -> None:
        """Forget a slot, and have another do what it did for its node."""
        slot.member.slots.pop(slot.id, None)
        if slot.doing == DESCRIBE:
            slot.member.begun = None
        self.data.lost(slot)

    def _lose(self, slot: Slot, reason: str) -> Iterator[Event]:
        """A slot is gone; its task is given to another, unless it was lost too often."""
        member, task, slot.task = slot.member, slot.task, None
        self._gone(slot)
        if slot.since > member.last_incident:  # or it may have been hit by that one too
            member.last_incident = time.monotonic()
            member.incidents += 1
        there = member.node.id in self.members.by_id
        if there and member.incidents >= MOST_LOSSES and not member.problem:
            member.problem = f"it lost slots {MOST_LOSSES} times in a row: {reason}"
            yield from self._left_out(member)
        if task is None:
            return
        task.losses += 1
        task.avoid = member.node.id
        if task.losses < MOST_LOSSES:
            self._again(task)
            yield Notice(f"again: {task.job.name}: {member.name} was lost ({reason})")
            return
        why = (
            f"its process was lost {MOST_LOSSES} times, each time before a new checkpoint; "
            f"the last time on {member.name}: {reason}"
        )
        result = Result("lost", why, environment=self._environment(member))
        yield from self._ended(task, result, member.name)

    def _environment(self, member: Member) -> dict[str, Any]:
        execution = self.placement.execution
        if member.facts is None or execution is None:
            return {"node": member.name}
        return {**member.facts.environment(execution), "node": member.name}

    def _silent(self) -> Iterator[Event]:
        """Give up the slots that have said nothing for too long."""
        now = time.monotonic()
        for slot in self.members.slots:
            if slot.doing and slot.heard is not None and now - slot.heard > self.patience.silence:
                self.members.stop(slot)
                yield from self._lose(slot, f"silent for {self.patience.silence:g} s")

    def _undescribed(self) -> Iterator[Event]:
        """Leave out the nodes that are alive, and take too long to describe themselves."""
        now, most = time.monotonic(), self.patience.describe
        for member in self.members:
            if member.facts or member.problem or member.begun is None:
                continue
            if now - member.begun > most:
                member.problem = f"it did not describe itself within {most:g} s"
                yield from self._left_out(member)
