"""What comes before any training: the data, the setting of the work, and what the machine is."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo import __version__
from zoo.config.request import Request
from zoo.errors import ZooError
from zoo.execution.base import Setting
from zoo.execution.process import Worker, WorkerError
from zoo.registry.loading import Zoo
from zoo.sweep.keys import git_state
from zoo.sweep.plan import Planned
from zoo.sweep.progress import Progress
from zoo.tasks.base import EncodedData
from zoo.tasks.catalog import find_task


@dataclass(frozen=True)
class Prepared:
    """What every trial and probe of a request shares.

    config: task, data, sizes, training and execution as resolved. environment: versions, machine.
    """

    encoded: EncodedData
    setting: Setting
    config: dict[str, Any]
    environment: dict[str, Any]


def prepare(
    request: Request, zoo: Zoo, progress: Progress, log: Path, rows: Sequence[Planned]
) -> Prepared:
    """Load and encode the data, and start a worker once to ask what the machine is.

    rows: those of them that were given parameters are built once, to see that they can be.
    Raises ZooError for data that cannot be had and for values that a component refuses.
    """
    encoded, data, notices = find_task(request.task).prepare(request, zoo.registry)
    for notice in notices:
        progress.notice(notice)
    setting = make_setting(request, zoo, encoded)
    with Worker(setting.threads, log) as worker:
        machine = _called(worker, "describe", setting)
        given = [row.subject for row in rows if any(choice.given for choice in row.choices)]
        if given:
            _called(worker, "try", (setting, given))
    return Prepared(
        encoded,
        setting,
        make_config(request, data, machine),
        {**machine, "zoo": __version__, "git": git_state()},
    )


def make_setting(request: Request, zoo: Zoo, encoded: EncodedData) -> Setting:
    """What workers are told; without ``--threads`` a share of the cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Setting(
        data=str(encoded.directory),
        sizes=request.sizes,
        training=request.training,
        execution=request.execution,
        plugin_files=zoo.files,
        plugin_selection=os.environ.get("ZOO_PLUGINS"),
        threads=request.threads or max(1, (cores or 1) // request.jobs),
        read_last=request.read_last,
        memory_limit=request.memory_limit,
        task=request.task,
        beam=request.beam,
        keep_duplicates=request.keep_duplicates,
    )


def make_config(request: Request, data: dict[str, Any], machine: dict[str, Any]) -> dict[str, Any]:
    """What a record says of data, sizes, training and execution."""
    return {
        **find_task(request.task).config(request),
        "data": data,
        "sizes": request.sizes.model_dump(),
        "training": request.training.model_dump(),
        "execution": {
            "precision": machine["precision"],
            "compile": request.execution.compile,
        },
        "read_last": request.read_last,
    }


@contextlib.contextmanager
def scratch_log() -> Iterator[Path]:
    """A file for whatever workers print, for as long as the run goes on."""
    with tempfile.TemporaryDirectory(prefix="zoo-") as directory:
        yield Path(directory) / "worker.log"


def _called(worker: Worker, command: str, payload: Any) -> Any:
    """A worker's answer where there can be no run without it."""
    try:
        return worker.call(command, payload)
    except WorkerError as failure:
        raise ZooError(f"the worker process cannot start: {failure.reason}") from failure
