"""One job in a slot: the node's own local executor runs it, in a process of its own.

Exit codes, signals, limits and bits are what they are on one machine, because the same code runs.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zoo.execution.artifacts import Artifacts
from zoo.execution.base import Ended, Job, Limits, Progress, Result, Started, Step
from zoo.execution.cluster.scratch import slot_directory
from zoo.execution.cluster.travelling_files import Directory, Files, has_data
from zoo.execution.local import LocalExecutor


@dataclass(frozen=True)
class Begun:
    """The job has begun."""


@dataclass(frozen=True)
class Advanced:
    """The job has come further. files: its checkpoint, where there is a new one."""

    step: Step
    files: Files


@dataclass(frozen=True)
class Finished:
    """The job has ended. files: what it leaves, such as trained weights."""

    result: Result
    files: Files


@dataclass(frozen=True)
class DataMissing:
    """The job cannot begin: the data are not in the cache of the node, or are damaged there."""


def hello() -> None:
    """Prepare the slot: nothing of a slot that was killed here is left."""
    slot_directory()


def run(
    job: Job,
    limits: Limits,
    node: str,
    environment: Mapping[str, Any],
    files: Files,
    data_digest: str,
) -> Iterator[Begun | Advanced | Finished | DataMissing]:
    """Run a job.

    node: the name of this node. environment: of a job here, for one that ends without saying its
    own. files: artifacts that the job left where it ran before. data_digest: of its data.
    """
    data = job.setup.data
    if data is not None and not has_data(data.key, data_digest):
        yield DataMissing()
        return
    here = {"node": node, "nice": _usual_niceness(), "load": round(os.getloadavg()[0], 2)}
    if gpus := os.environ.get("CUDA_VISIBLE_DEVICES"):
        here["visible_gpus"] = gpus
    with tempfile.TemporaryDirectory(dir=slot_directory()) as scratch:
        directory = Directory(Artifacts(Path(scratch)).of(job))
        directory.receive(files)
        executor = LocalExecutor()
        limits = replace(limits, jobs=1)
        for event in executor.run([job], limits=limits, directory=Path(scratch)):
            if isinstance(event, Started):
                yield Begun()
            elif isinstance(event, Progress):
                yield Advanced(event.step, directory.changed())
            elif isinstance(event, Ended):
                result = _with_environment(event.result, environment, here)
                yield Finished(result, directory.changed() if result.status == "ok" else {})


def _usual_niceness() -> int:
    """Give this process, and those that it starts, the usual priority if it may; what it is."""
    if os.nice(0) > 0:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)
    return os.nice(0)


def _with_environment(
    result: Result, environment: Mapping[str, Any], here: Mapping[str, Any]
) -> Result:
    """The result with its environment, also of each member, and without paths of this node."""
    return replace(
        result,
        environment={**(result.environment or environment), **here},
        members=tuple(_with_environment(one, environment, here) for one in result.members),
        artifacts={},
    )
