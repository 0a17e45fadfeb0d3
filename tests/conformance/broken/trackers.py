"""Trackers that are wrong in one way each."""

from __future__ import annotations

from specimens import Specimens

from zoo import hookimpl
from zoo.registry import Register
from zoo.tracking import Tracker

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


@broken.caught_by("contract", "abstract method '?end'?")
class NeverEnds(Tracker):
    def start(self, run):
        pass

    def log(self, values, step):
        pass


@broken.caught_by("parameters", "'project' is registered", parameters={"project": ""})
class TakesNoProject(Tracker):
    def start(self, run):
        pass

    def log(self, values, step):
        pass

    def end(self, status, values):
        pass
