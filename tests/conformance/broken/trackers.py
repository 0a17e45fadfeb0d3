"""Trackers that are wrong in one way each."""

from __future__ import annotations

from specimens import Specimens, registering

broken = Specimens("tracker")
zoo_register = registering(broken)


@broken.caught_by("contract", "the factory gives a LooksLikeOne, no Tracker")
class LooksLikeOne:
    def start(self, run):
        pass

    def log(self, values, step):
        pass

    def end(self, status, values):
        pass
