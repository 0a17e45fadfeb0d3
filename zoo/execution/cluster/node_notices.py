"""What a run says of its nodes: how busy each is, which is overdue, and that none is left."""

from __future__ import annotations

import time
from collections.abc import Iterator

from zoo.errors import ZooError
from zoo.execution.base import NodeStatus, Notice
from zoo.execution.cluster.members import Member, Members
from zoo.execution.cluster.placement import OVERDUE, Placement


class NodeNotices:
    """wait: seconds that a run waits for a node where none is left."""

    def __init__(self, members: Members, placement: Placement, wait: float) -> None:
        self._members, self._placement, self._wait = members, placement, wait
        self._shown: dict[str, NodeStatus] = {}
        self._alone_since: float | None = None

    def changed(self) -> Iterator[NodeStatus]:
        """The state of each node that is not what it was when it was last shown."""
        for member in self._placement.usable():
            room = self._placement.room(member)
            status = NodeStatus(member.name, room, member.busy, member.done)
            if self._shown.get(member.name) != status:
                self._shown[member.name] = status
                yield status

    def gone(self, member: Member) -> Iterator[NodeStatus]:
        """A node is gone, or is left out."""
        if self._shown.pop(member.name, None) is not None:
            yield NodeStatus(member.name, 0, 0, member.done)

    def overdue(self) -> Iterator[Notice]:
        """Each slot that has not begun for long; said once."""
        for slot in self._members.slots:
            if slot.heard or slot.overdue or time.monotonic() - slot.since < OVERDUE:
                continue
            slot.overdue = True
            yield Notice(
                f"{slot.member.name} began no slot in {OVERDUE:g} s: its cores may be in use by "
                "others"
            )

    def left_alone(self) -> Iterator[Notice]:
        """Raise ZooError where no node can run the jobs, or none has come back in time."""
        members = list(self._members)
        described = self._members.listed and all(m.facts or m.problem for m in members)
        if not described or self._placement.usable():
            self._alone_since = None
            return
        reasons = "; ".join(f"{m.name}: {m.problem or self._placement.differs(m)}" for m in members)
        if self._alone_since is None:
            hopeless = members and all(member.problem for member in members)
            if hopeless or self._members.reference is None:
                raise ZooError(f"no node can run this: {reasons or 'the cluster has none'}")
            self._alone_since = time.monotonic()
            yield Notice(f"no node is left that can go on; waiting {self._wait:g} s for one")
        elif time.monotonic() - self._alone_since > self._wait:
            raise ZooError(f"no node is left, and none came within {self._wait:g} s. {reasons}")
