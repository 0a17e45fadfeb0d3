"""Encoded data on their way to the nodes: once to each, and again where its cache was damaged."""

from __future__ import annotations

import time

from zoo.data.cache import cached_entry
from zoo.errors import ZooError
from zoo.execution.base import JobSetup
from zoo.execution.cluster.members import STORE, Member, Members, Slot
from zoo.execution.cluster.travelling_files import data_digest, data_files
from zoo.execution.open_setup import open_setup


class DataDelivery:
    """Sends data to slots that say that their node lacks them."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._digests: dict[str, str] = {}

    def digest(self, setup: JobSetup) -> str:
        """What a node knows the data of a job by; empty where it has none. Raises ZooError."""
        if setup.data is None:
            return ""
        key = setup.data.key
        if key not in self._digests:
            _complete(setup)
            self._digests[key] = data_digest(key)
        return self._digests[key]

    def ask(self, slot: Slot) -> bool:
        """A slot lacks the data of its task. Whether they have come since it looked.

        If not, they are sent to it, unless another slot of its node is being sent them. Raises
        ZooError where they are damaged here too, and their source is a file.
        """
        assert slot.task is not None
        setup, member = slot.task.job.setup, slot.member
        assert setup.data is not None
        if member.stored > slot.called:
            return True
        if not member.doing(STORE):
            _complete(setup)
            key = setup.data.key
            self._members.call(slot, STORE, key, self.digest(setup), data_files(key))
        return False

    def stored(self, slot: Slot) -> list[Slot]:
        """A slot has put the data into its node's cache; the slots that waited for them."""
        slot.member.stored = time.monotonic()
        return self._waiting(slot.member)

    def lost(self, slot: Slot) -> None:
        """A slot is gone; where the data were sent to it, another of its node has them sent."""
        for waiting in self._waiting(slot.member)[:1]:
            self.ask(waiting)

    def _waiting(self, member: Member) -> list[Slot]:
        slots = member.slots.values()
        return [s for s in slots if s.lacks_data and not s.doing and s.task is not None]


def _complete(setup: JobSetup) -> None:
    """Make the data again where this machine's cache lacks them, as a job on this machine does."""
    assert setup.data is not None
    try:
        cached_entry(setup.data.key)
    except ZooError:
        open_setup(setup)
