"""The interface of engines, which start slots on nodes. An engine runs in a process of its own.

A slot is a process on a node that runs one job at a time. It has nothing to do but to give each
call that comes to ``slot_calls.carry_out``, and to send back every message that this yields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Node:
    """A machine of the cluster. id: unique. name: for people. cores, gpus: that jobs may use.

    problem: why it is given no jobs; empty where none is known.
    """

    id: str
    name: str
    cores: int
    gpus: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Joined:
    """A node is there."""

    node: Node


@dataclass(frozen=True)
class Listed:
    """All nodes that were there at the start have been reported."""


@dataclass(frozen=True)
class Left:
    """A node is gone, and its slots with it."""

    node: str
    reason: str


@dataclass(frozen=True)
class Said:
    """A message of a slot; see ``slot_calls``."""

    slot: str
    message: bytes


@dataclass(frozen=True)
class Lost:
    """A slot is gone. out_of_memory: it was killed because its node ran out of memory."""

    slot: str
    reason: str
    out_of_memory: bool = False


Report = Joined | Listed | Left | Said | Lost


class Engine(Protocol):
    """Made with a function that takes reports, from any thread, a directory, and options by name.

    The directory is the engine's own, and is removed when its process has ended.

    Making one connects, and raises ZooError where it cannot. The other methods return at once; what
    comes of them is reported.
    """

    def watch(self) -> None:
        """Report every node that is there, then Listed, and then each that comes or goes."""
        ...

    def start(self, slot: str, node: str, cores: int, gpus: int) -> None:
        """Start a slot on a node, once so many of its cores and GPUs are free.

        The slot sees the GPUs that it was given, and no others.
        """
        ...

    def call(self, slot: str, call: bytes) -> None:
        """Have a slot carry out a call, after those that it was given before."""
        ...

    def stop(self, slot: str) -> None:
        """End a slot, whatever it is doing; nothing more is reported of it."""
        ...

    def close(self) -> None:
        """End all slots, and whatever the engine itself has started."""
        ...
