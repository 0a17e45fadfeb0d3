"""Which nodes are given the jobs of a run, how many slots each has, and which job goes where."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from zoo.config.machine import MACHINE_FIELDS, machine_of
from zoo.config.settings import Execution
from zoo.execution.base import Limits
from zoo.execution.cluster.members import Member, Members, Slot, Task

OVERDUE = 60.0  # seconds after which another slot is opened in place of one that did not begin


@dataclass
class Placement:
    """Opens slots for the jobs of a run.

    execution: as resolved; None as long as it is not. exclusive: each job has a node for itself, of
    the class of the machine that was inspected. inspecting: the jobs go there too, if they can.
    """

    members: Members
    limits: Limits
    execution: Execution | None = None
    exclusive: bool = False
    inspecting: bool = False

    def usable(self) -> list[Member]:
        """The nodes that may be given these jobs."""
        members = [m for m in self.members if m.facts and not m.problem]
        if not (self.exclusive or self.inspecting) or self.execution is None:
            return members
        alike = [member for member in members if not self.differs(member)]
        return alike if alike or self.exclusive else members

    def claim(self, member: Member) -> tuple[int, int]:
        """The cores and GPUs of a slot."""
        node = member.node
        if self.exclusive:
            return node.cores, node.gpus
        on_gpu = self.execution is None or self.execution.device == "cuda"
        return min(self.limits.threads, node.cores), min(1, node.gpus) if on_gpu else 0

    def room(self, member: Member) -> int:
        """How many slots a node has."""
        cores, gpus = self.claim(member)
        room = member.node.cores // cores
        if self.execution is not None and self.execution.device == "cuda" and not self.exclusive:
            room = min(room, member.node.gpus // gpus if gpus else 1)
        return room

    def prepare(self, waiting: int) -> None:
        """Open slots for so many waiting tasks, and close those that are of another size."""
        members = self.usable()
        for slot in [slot for member in members for slot in member.slots.values()]:
            if slot.idle and slot.claim != self.claim(slot.member):
                self.members.stop(slot)
        now = time.monotonic()
        slots = [slot for member in members for slot in member.slots.values()]
        there = [s for s in slots if s.heard is not None or now - s.since < OVERDUE]
        missing = waiting + sum(m.busy for m in members) - len(there)
        if self.limits.jobs and not self.exclusive:
            missing = min(missing, self.limits.jobs - len(there))
        for _ in range(missing):
            free = [m for m in members if self._fits_another(m)]
            if not free:
                break
            emptiest = min(free, key=lambda m: len(m.slots) / self.room(m))
            self.members.open(emptiest, self.claim(emptiest))

    def assignments(self, waiting: Iterable[Task]) -> Iterator[tuple[Slot, Task]]:
        """Idle slots, each with a task; a node that lost a task is given another, if it can be."""
        members = self.usable()
        idle = [s for m in members for s in m.slots.values() if s.idle and s.claim == self.claim(m)]
        left = list(itertools.islice(waiting, len(idle) + len(members)))
        ready = {m.node.id for m in members for s in m.slots.values() if s.heard is not None}
        free = len(left)
        if self.limits.jobs and not self.exclusive:
            free = self.limits.jobs - sum(member.busy for member in members)
        for slot in idle:
            if free <= 0 or not left:
                return
            here = slot.member.node.id
            task = next((t for t in left if t.avoid != here or ready <= {here}), None)
            if task is not None:
                left.remove(task)
                free -= 1
                yield slot, task

    def _fits_another(self, member: Member) -> bool:
        """Whether a node has room beside its slots, of whatever size they are."""
        return len(member.slots) < self.room(member) and all(
            slot.claim == self.claim(member) for slot in member.slots.values()
        )

    def differs(self, member: Member) -> str:
        """Why times of a node do not compare with those of the inspected machine; empty: they do.

        It has described itself.
        """
        if self.members.reference is None:
            return ""
        assert member.facts is not None
        assert self.execution is not None
        there = machine_of(member.facts.environment(self.execution))
        inspected = machine_of(self.members.reference)
        return ", ".join(
            f"its {field} is {its or 'unknown'}, and that of the node inspected first "
            f"{other or 'unknown'}"
            for field, its, other in zip(MACHINE_FIELDS, there, inspected, strict=True)
            if its != other
        )
