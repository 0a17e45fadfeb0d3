"""What runs on the nodes: one job, by the node's own local executor, and the board of the run.

Exit codes, signals, limits and bits are what they are on one machine, because the same code runs.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ray

from zoo.config.settings import MACHINE_FIELDS, machine_of
from zoo.data.cache import entry
from zoo.errors import StoppedError, WriteError, ZooError
from zoo.execution.base import OUTPUT, Advanced, Ended, Job, Limits, Result, Step
from zoo.execution.failures import require_same_code
from zoo.execution.local import LocalExecutor
from zoo.execution.process import Worker
from zoo.files import scratch_directory

Files = dict[str, bytes]  # name to content


@dataclass(frozen=True)
class Done:
    """What became of a job on a node (its id). files: trained weights, by name.

    unfit: why the node cannot run the job; empty where it did.
    """

    node: str
    result: Result
    files: Files = field(default_factory=dict)
    unfit: str = ""


class Board:
    """An actor of the submitting machine, where jobs say how far they are."""

    def __init__(self) -> None:
        self._said: list[tuple[str, str, Step | None]] = []

    def say(self, key: str, node: str, step: Step | None) -> None:
        """A job has begun on a node (step is None), or has come further there."""
        self._said.append((key, node, step))

    def heard(self) -> list[tuple[str, str, Step | None]]:
        """What was said since the last call."""
        said, self._said = self._said, []
        return said


def torch_version() -> str:
    """Of torch here, without the name of its build: a node with a GPU has another build."""
    return importlib.metadata.version("torch").partition("+")[0]


def run_job(
    job: Job, limits: Limits, torch: str, reference: Mapping[str, Any], data: Files, board: Any
) -> Done:
    """Run a job on this node: the remote function.

    torch: the version of the submitting machine. reference: the environment of the machine that a
    job that is ``alone`` needs the like of; empty: any. data: the files of the job's data. Nothing
    here waits for Ray, which would give this job's cores to another one meanwhile.
    """
    node = ray.get_runtime_context().get_node_id()
    with scratch_directory() as scratch:
        described = functools.cache(lambda: _environment(job, limits, scratch / OUTPUT))
        try:
            if torch_version() != torch:
                raise ZooError(f"it has torch {torch_version()}, and the run began with {torch}")
            require_same_code(job.setup.code)
            if job.alone and reference:
                _require_same_machine(described(), reference)
        except ZooError as error:
            return Done(node, Result(), unfit=str(error))
        if job.setup.data:
            entry(job.setup.data, functools.partial(_write, data))
        board.say.remote(job.key, node, None)
        try:
            events = LocalExecutor().run([job], limits=replace(limits, jobs=1), directory=scratch)
            for event in events:
                if isinstance(event, Advanced):
                    board.say.remote(job.key, node, event.step)
                elif isinstance(event, Ended):
                    artifacts = event.result.artifacts
                    files = {name: file.read_bytes() for name, file in artifacts.items()}
                    result = replace(event.result, artifacts={})
        except WriteError as error:  # the disk is full
            return Done(node, Result(), unfit=str(error))
        except StoppedError as error:
            return Done(node, Result("lost", str(error)))
        environment = {} if result.environment else described()
        return Done(node, with_environment(result, environment, {"nice": os.nice(0)}), files)


def with_environment(
    result: Result, environment: Mapping[str, Any], here: Mapping[str, Any]
) -> Result:
    """The result and its members; those without an environment have this one, and all ``here``."""
    return replace(
        result,
        environment={**(result.environment or environment), **here},
        members=tuple(with_environment(each, environment, here) for each in result.members),
    )


def _write(files: Files, directory: Path) -> None:
    for name, content in files.items():
        (directory / name).write_bytes(content)


def _environment(job: Job, limits: Limits, log: Path) -> dict[str, Any]:
    """The environment of a job on this node, asked of a process like the job's own."""
    with Worker(limits, log) as worker:
        return dict(worker.call("zoo.execution.machine:environment", job.setup.execution))


def _require_same_machine(environment: Mapping[str, Any], reference: Mapping[str, Any]) -> None:
    """Raise ZooError where times of this machine do not compare with those of the reference."""
    pairs = zip(MACHINE_FIELDS, machine_of(environment), machine_of(reference), strict=True)
    differ = [
        f"its {name} is {here}, not {there}"
        for name, here, there in pairs
        if here != there and name != "threads"  # which are those of the job
    ]
    if differ:
        raise ZooError(f"costs are measured on machines of one kind, and {', '.join(differ)}")
