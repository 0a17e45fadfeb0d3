"""The local executor: each training in a process of its own on this machine.

It survives whatever happens to a job: an exception, an exit, a crash in native code, a lack of
memory, a hang.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.execution.artifacts import OUTPUT, Artifacts
from zoo.execution.base import (
    CostJob,
    Ended,
    Event,
    Executor,
    Job,
    Limits,
    Notice,
    Progress,
    Started,
)
from zoo.execution.failures import JobError
from zoo.execution.inline import run_here
from zoo.execution.pool import Again, Began, Call, Done, run_calls

RUN_JOB = "zoo.execution.run_job:run_job"


class LocalExecutor(Executor):
    """Runs jobs in worker processes; see ``zoo.execution.base.Executor``."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run ``limits.jobs`` jobs at once, and cost jobs alone, after all others."""
        with Artifacts(directory) as artifacts:
            others = [job for job in jobs if not isinstance(job, CostJob)]
            yield from _parallel(others, limits, artifacts)
            for job in jobs:
                if isinstance(job, CostJob):
                    # It starts processes of its own, so it is coordinated in this one.
                    yield from run_here(job, limits, artifacts)


def _parallel(jobs: Sequence[Job], limits: Limits, artifacts: Artifacts) -> Iterator[Event]:
    def call(job: Job) -> Call:
        directory = artifacts.of(job)
        return Call(job, RUN_JOB, (job, directory, limits), directory / OUTPUT)

    with contextlib.closing(run_calls(map(call, jobs), limits, limits.jobs)) as events:
        for made, event in events:
            job: Job = made.of
            if isinstance(event, Began):
                yield Started(job)
            elif isinstance(event, Again):
                yield Notice(f"{job.name}: out of memory beside others; it is run again, alone")
            elif isinstance(event, Done):
                result = event.value
                result = result.result() if isinstance(result, JobError) else result
                result = replace(result, seconds=event.seconds)
                yield Ended(job, artifacts.with_files(job, result))
                artifacts.remove(job)
            else:
                yield Progress(job, event)
