"""Executors that are wrong in one way each."""

from __future__ import annotations

from specimens import Specimens, registering

from zoo.execution.base import Ended, Executor, Progress, Result, Started
from zoo.execution.run_job import run_job

broken = Specimens("executor")
zoo_register = registering(broken)


@broken.caught_by("events", "the factory gives a NoExecutor, no Executor")
class NoExecutor:
    def run(self, jobs, *, limits, directory):
        return iter(())


@broken.caught_by("events", "abstract")
class CannotRun(Executor):
    pass


@broken.caught_by("events", "0 Started events, not 1")
class RunsNothing(Executor):
    def run(self, jobs, *, limits, directory):
        return iter(())


@broken.caught_by("events", "0 Ended events, not 1")
class LosesTheLastJob(Executor):
    def run(self, jobs, *, limits, directory):
        for job in jobs:
            yield Started(job)
        for item in run_job(jobs[0], directory, limits):
            yield Ended(jobs[0], item) if isinstance(item, Result) else Progress(jobs[0], item)


@broken.caught_by("events", "no environment")
class ForgetsTheMachine(Executor):
    def run(self, jobs, *, limits, directory):
        for job in jobs:
            yield Started(job)
            yield Ended(job, Result())
