"""Executors that are wrong in one way each."""

from __future__ import annotations

from specimens import Specimens

from zoo import hookimpl
from zoo.registry import Register

broken = Specimens("executor")


@hookimpl
def zoo_register(register: Register) -> None:
    broken.register(register)


@broken.caught_by("contract", r"a CannotBeClosed has no close\(\)")
class CannotBeClosed:
    def run(self, jobs, *, limits):
        return iter(())


@broken.caught_by("contract", r"a RunsAtOnce has no run\(\)")
class RunsAtOnce:
    run = ()

    def close(self):
        pass
