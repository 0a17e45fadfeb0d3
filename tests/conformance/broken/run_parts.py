"""Executors, metrics and trackers that are wrong in one way each."""

from __future__ import annotations

from specimens import Specimens, registering

from zoo.config.metric_description import MetricDescription
from zoo.execution.base import Ended, Executor, Progress, Result, Started
from zoo.execution.local import run_job

executors, metrics, trackers = Specimens("executor"), Specimens("metric"), Specimens("tracker")
zoo_register = registering(executors, metrics, trackers)


@executors.caught_by("laws", "the factory gives a NoExecutor, no Executor")
class NoExecutor:
    def run(self, jobs, *, limits, directory):
        return iter(())


@executors.caught_by("laws", "abstract")
class CannotRun(Executor):
    pass


@executors.caught_by("laws", "0 Started events, not 1")
class RunsNothing(Executor):
    def run(self, jobs, *, limits, directory):
        return iter(())


@executors.caught_by("laws", "0 Ended events, not 1")
class LosesTheLastJob(Executor):
    def run(self, jobs, *, limits, directory):
        for job in jobs:
            yield Started(job)
        for item in run_job(jobs[0], directory, limits):
            yield Ended(jobs[0], item) if isinstance(item, Result) else Progress(jobs[0], item)


@executors.caught_by("laws", "no environment")
class ForgetsTheMachine(Executor):
    def run(self, jobs, *, limits, directory):
        for job in jobs:
            yield Started(job)
            yield Ended(job, Result())


def described(name: str, **changes):
    from zoo.tasks.base import Metric

    parts = {"description": MetricDescription(name=name, label=name), "compute": lambda _: 0.5}
    return Metric(**{**parts, **changes})


@metrics.caught_by("laws", "gives a float, no Metric")
def number():
    return 0.5


@metrics.caught_by("laws", "description is a str, no MetricDescription")
def described_in_text():
    return described("a", description="the share of right answers")


@metrics.caught_by("laws", "compute is a float, no function")
def computed_before():
    return described("computed_before", compute=0.5)


@metrics.caught_by("laws", "name is 'share' instead of 'another_name'")
def another_name():
    return described("share")


@trackers.caught_by("laws", "the factory gives a LooksLikeOne, no Tracker")
class LooksLikeOne:
    def start(self, run):
        pass

    def log(self, values, step):
        pass

    def end(self, status, values):
        pass
