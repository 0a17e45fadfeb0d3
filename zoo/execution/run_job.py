"""Carry out one job in this process; every failure becomes the status of its result."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.execution.base import Job, Limits, Result, Step
from zoo.execution.failures import from_exception
from zoo.execution.same_code import require_same_code

# Imported where a job runs: inspecting and training need torch, coordinating a cost job does not.
RUNNERS = {
    "inspect": "zoo.execution.train_job:inspect",
    "train": "zoo.execution.train_job:train",
    "cost": "zoo.execution.cost_job:measure",
}


def run_job(job: Job, directory: Path, limits: Limits) -> Iterator[Step | Result]:
    """Yield the steps of a job as they are done and, last, its result.

    directory: for the job's artifacts; it exists. A training that finds its checkpoint there
    resumes. An executor passes on what this yields; itself it classifies only a process that died
    (``failures.from_exit``).
    """
    start = time.monotonic()
    module, _, name = RUNNERS[job.kind].partition(":")
    try:
        require_same_code(job.setup.code)
        for item in getattr(importlib.import_module(module), name)(job, directory, limits):
            if isinstance(item, Result):
                item = replace(item, seconds=time.monotonic() - start)
            yield item
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a component may raise anything
        result = from_exception(error).result(time.monotonic() - start)
        yield replace(result, environment=_environment(job))


def _environment(job: Job) -> dict[str, Any]:
    """The environment of this machine; empty where the job ended before torch was imported."""
    if "torch" not in sys.modules:
        return {}
    from zoo.execution.environment import environment
    from zoo.training.device import resolve

    try:
        return environment(resolve(job.setup.execution))
    except Exception:  # noqa: BLE001 - the job's own failure is what is reported
        return {}
