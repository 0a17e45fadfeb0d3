"""Which task reads which registered data: both declare it, nothing is guessed."""

from __future__ import annotations

import itertools
from pathlib import Path

from zoo.data.sources.load_data import HUB, find_registered, no_such_data
from zoo.errors import ZooError
from zoo.registry import CAPABILITIES, Registry
from zoo.tasks.base import Task, find_task

SMALL = 5_000_000  # bytes of data that are read before a run as well


def task_for(registry: Registry, spec: str | None) -> str | None:
    """The name of the task that reads the registered data of a spec, the zoo's own tasks first.

    None where the spec is a path, names Hub data or is None, and where no task reads the data.
    """
    choice = find_registered(registry, spec)
    if choice is None:
        return None
    for label in registry.labels("task"):
        try:
            reads = find_task(registry, label).reads
        except ZooError:  # a broken plug-in reads nothing
            continue
        if reads and choice.can(reads[0]):
            return label
    return None


def refuse_unread(registry: Registry, task: Task, task_name: str, spec: str | None) -> None:
    """ZooError where the spec names registered data that the task does not read."""
    choice = find_registered(registry, spec)
    if choice is None or any(choice.can(held) for held in task.reads):
        return
    what = f"data '{choice}' of {choice.component.owner}"
    held = next((name for name in CAPABILITIES["data"] if choice.can(name)), None)
    if held is None:
        known = ", ".join(CAPABILITIES["data"])
        raise ZooError(f"{what} does not declare what it holds, as one of: {known}")
    reader = task_for(registry, spec)
    right = f"--task {reader} reads" if reader else "no task here reads"
    own = f"reads {' and '.join(task.reads)}" if task.reads else "takes no registered data"
    raise ZooError(f"{what} holds {held}, which {right}; {task_name} {own}")


def refuse_missing(registry: Registry, task: Task, spec: str | None) -> None:
    """ZooError where the spec names no data, as far as is known without reading any.

    The data of the Hub are not looked up. A task that reads no registered data has specs of its
    own, which are not known here.
    """
    if spec is None or not task.reads or find_registered(registry, spec):
        return
    spec = spec.strip()
    if spec and Path(spec).expanduser().exists():
        return
    pairs = task.reads == ("pairs",)
    if pairs or not spec.startswith(HUB):
        raise no_such_data(registry, spec, pairs=pairs)


def small_files(registry: Registry, spec: str | None) -> bool:
    """Whether the spec names a file or a directory that is read within a few seconds."""
    if spec is None or find_registered(registry, spec):
        return False
    path = Path(spec.strip()).expanduser()
    files = [path] if path.is_file() else (file for file in path.rglob("*") if file.is_file())
    sizes = itertools.accumulate(file.stat().st_size for file in files)
    return path.exists() and all(size <= SMALL for size in sizes)
