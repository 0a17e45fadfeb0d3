"""A task, a metric, an executor and a tracker, each right. Without torch, as a task must be."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, Field

from zoo import hookimpl
from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError
from zoo.execution.base import (
    Advanced,
    Artifacts,
    Ended,
    Event,
    Executor,
    Job,
    Limits,
    Result,
    Started,
)
from zoo.execution.local import run_job
from zoo.registry import Register
from zoo.tasks.base import Task
from zoo.tracking import TrackedRun, Tracker


class Options(BaseModel):
    margin: float = Field(default=0.5, description="Between two ranks.")


class Rank(Task):
    """Only what the checks read; the methods of the contract are tested with the tasks."""

    options = Options
    reads = ("token-labels",)
    needs: ClassVar = {"attention": {"causal"}, "block": frozenset({"cross"})}
    metrics = ("mean-rank",)


Rank.__abstractmethods__ = frozenset()


def mean_rank() -> object:
    from zoo.tasks.base import Metric

    description = MetricDescription(
        name="mean_rank", label="mean rank", higher_is_better=False, highest=None
    )
    return Metric(description, lambda outputs: float(outputs["rank"]))


class OneByOne(Executor):
    """Runs jobs in this process, which nothing stops."""

    def default_limits(self, asked: Limits, trainings: int = 1) -> Limits:
        if asked.jobs > 1 or asked.timeout is not None:
            raise ZooError("one at a time, and without a timeout")
        return replace(asked, jobs=1, threads=asked.threads or 1)

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        artifacts = Artifacts(directory)
        for job in sorted(jobs, key=lambda job: job.alone):
            yield Started(job)
            for item in run_job(job, artifacts.of(job), limits):
                if isinstance(item, Result):
                    yield Ended(job, artifacts.with_files(job, item))
                else:
                    yield Advanced(job, item)
            artifacts.remove(job)


class Remembers(Tracker):
    """Keeps what it was shown."""

    def __init__(self) -> None:
        self.runs: list[TrackedRun] = []

    def show(self, run: TrackedRun) -> None:
        self.runs.append(run)


@hookimpl
def zoo_register(register: Register) -> None:
    register("task", "rank", Rank, summary="sound")
    register("metric", "mean-rank", mean_rank, summary="sound")
    register("executor", "one-by-one", OneByOne, summary="sound")
    register("tracker", "remembers", Remembers, summary="sound")
