"""Trackers that are wrong in one way each."""

from __future__ import annotations

from specimens import Specimens

from zoo import hookimpl
from zoo.registry import Register

broken = Specimens("tracker")


@hookimpl
def zoo_register(register: Register) -> None:
    broken.register(register)


@broken.caught_by("contract", "the factory gives a LooksLikeOne, no Tracker")
class LooksLikeOne:
    def start(self, run):
        pass

    def log(self, values, step):
        pass

    def end(self, status, values):
        pass
