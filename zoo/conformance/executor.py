"""Checks of executors."""

from __future__ import annotations

import tempfile
from pathlib import Path

from zoo.conformance.assertions import must
from zoo.conformance.check import check
from zoo.conformance.setups.setup import Setup


@check("executor")
def contract(setup: Setup) -> None:
    """The factory builds an object with the methods run and close."""
    executor = setup.make()
    for method in ("run", "close"):
        found = callable(getattr(executor, method, None))
        must(found, f"a {type(executor).__name__} has no {method}()")


@check("executor")
def events(setup: Setup) -> None:
    """Every job starts once and ends once, and its result names the machine that ran it."""
    from zoo.config.request import Request
    from zoo.execution.base import Ended, InspectJob, JobSetup, Limits, Started

    request = Request()
    execution = request.execution.model_copy(update={"device": "cpu"})
    job_setup = JobSetup(request.task, {}, request.sizes, request.training, execution)
    jobs = [InspectJob(job_setup, f"job {number}", f"job-{number}") for number in range(2)]
    executor = setup.make()
    try:
        with tempfile.TemporaryDirectory() as directory:
            seen = list(executor.run(jobs, limits=Limits(), directory=Path(directory)))
    finally:
        executor.close()
    for job in jobs:
        kinds = [type(event) for event in seen if event.job.key == job.key]
        must(kinds.count(Started) == 1, f"{job.name}: {kinds.count(Started)} Started events, not 1")
        must(kinds.count(Ended) == 1, f"{job.name}: {kinds.count(Ended)} Ended events, not 1")
        must(kinds[0] is Started and kinds[-1] is Ended, f"{job.name}: events out of order")
    for event in seen:
        if isinstance(event, Ended):
            result = event.result
            must(result.status == "ok", f"{event.job.name}: {result.status}: {result.reason}")
            must(bool(result.environment.get("device")), f"{event.job.name}: no environment")
