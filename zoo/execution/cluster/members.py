"""The nodes of a cluster and their slots, as the process that submits knows them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from zoo.execution.base import Job
from zoo.execution.cluster.engine import Node, Report
from zoo.execution.cluster.node_facts import Facts
from zoo.execution.cluster.slot_calls import packed
from zoo.execution.cluster.travelling_files import Directory

CALLS = "zoo.execution.cluster."  # where the functions are that a slot is given, which are:
HELLO = "slot_work:hello"
DESCRIBE = "node_facts:describe_node"
STORE = "travelling_files:store_data"
RUN = "slot_work:run"


class RemoteEngine(Protocol):
    """An engine as the submitting process has it: ``EngineProcess``."""

    def start(self, slot: str, node: str, cores: int, gpus: int) -> None: ...
    def call(self, slot: str, call: bytes) -> None: ...
    def stop(self, slot: str) -> None: ...
    def receive(self, seconds: float) -> list[Report]: ...
    def log_to(self, directory: Path) -> None: ...
    def close(self) -> None: ...


@dataclass(eq=False)
class Task:
    """A job and how far it is. directory: its artifacts, here, once it has been given to a slot.

    losses: of slots that ran it, since it last brought a checkpoint home. avoid: the id of the node
    that lost it. fetched: how often its slot asked for the data.
    """

    job: Job
    directory: Directory | None = None
    started: bool = False
    losses: int = 0
    avoid: str = ""
    fetched: int = 0


@dataclass(eq=False)
class Slot:
    """A slot. doing: the call that it carries out (HELLO, …); empty where it has none.

    task: what it is to RUN; where its node lacks the data, one slot there has to STORE them first,
    and all that wait for them have ``lacks_data``. since, called, heard: when it was opened, was
    last given a call, and last said something, by the monotonic clock; heard is None where it never
    has. overdue: it has not begun for long, and a notice said so.
    """

    id: str
    member: Member
    claim: tuple[int, int]
    since: float
    called: float = 0.0
    heard: float | None = None
    overdue: bool = False
    doing: str = ""
    task: Task | None = None
    lacks_data: bool = False

    @property
    def idle(self) -> bool:
        """Whether it can be given a task."""
        return not self.doing and self.task is None


@dataclass(eq=False)
class Member:
    """A node of the cluster. name: for people, unique.

    facts: None until it has described itself. begun: when a slot first said something, by the
    monotonic clock; it is to describe itself then. problem: why it is given nothing. incidents:
    how often it lost slots, one or several at once, since a job last came further there.
    last_incident: when it last did; slots that were open then count to it. stored: when data were
    last put into its cache.
    """

    node: Node
    name: str
    facts: Facts | None = None
    begun: float | None = None
    problem: str = ""
    slots: dict[str, Slot] = field(default_factory=dict)
    done: int = 0
    incidents: int = 0
    last_incident: float = 0.0
    stored: float = 0.0

    @property
    def busy(self) -> int:
        """How many of its slots have a task."""
        return sum(slot.task is not None for slot in self.slots.values())

    def doing(self, call: str) -> list[Slot]:
        """Its slots that carry out such a call."""
        return [slot for slot in self.slots.values() if slot.doing == call]


class Members:
    """All nodes that are there. reference: the environment of the node that was inspected."""

    def __init__(self, engine: RemoteEngine) -> None:
        self.engine = engine
        self.by_id: dict[str, Member] = {}
        self.listed = False
        self.reference: Mapping[str, Any] | None = None
        self._numbers = itertools.count(1)

    def __iter__(self) -> Iterator[Member]:
        return iter(list(self.by_id.values()))

    @property
    def slots(self) -> list[Slot]:
        """All slots of all nodes."""
        return [slot for member in self for slot in member.slots.values()]

    def slot(self, name: str) -> Slot | None:
        """The slot of that id; None where it was stopped."""
        return next((m.slots[name] for m in self.by_id.values() if name in m.slots), None)

    def join(self, node: Node) -> Member:
        """Take a node in; of several nodes with one name, the later ones are numbered."""
        taken = {member.name for member in self}
        names = (node.name if n == 1 else f"{node.name}#{n}" for n in itertools.count(1))
        member = Member(node, next(name for name in names if name not in taken))
        self.by_id[node.id] = member
        return member

    def open(self, member: Member, claim: tuple[int, int]) -> Slot:
        """Start a slot with so many cores and GPUs on a node."""
        slot = Slot(f"slot-{next(self._numbers)}", member, claim, time.monotonic())
        member.slots[slot.id] = slot
        self.engine.start(slot.id, member.node.id, *claim)
        self.call(slot, HELLO)
        return slot

    def call(self, slot: Slot, call: str, *arguments: Any) -> None:
        """Give a slot something to do."""
        slot.doing, slot.called = call, time.monotonic()
        if slot.heard is not None:
            slot.heard = slot.called  # it has had nothing to say
        self.engine.call(slot.id, packed(f"{CALLS}{call}", *arguments))

    def stop(self, slot: Slot) -> None:
        """End a slot."""
        slot.member.slots.pop(slot.id, None)
        self.engine.stop(slot.id)
