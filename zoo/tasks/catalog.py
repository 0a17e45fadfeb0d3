"""The tasks by name."""

from __future__ import annotations

from zoo.errors import ZooError, nearest
from zoo.tasks.base import Task
from zoo.tasks.classify import Classify
from zoo.tasks.lm import LanguageModelling
from zoo.tasks.seq2seq import Transduction

TASKS: dict[str, Task] = {
    task.name: task for task in (Classify(), LanguageModelling(), Transduction())
}


def find_task(name: str) -> Task:
    """The task of that name; ZooError where there is none."""
    if name not in TASKS:
        raise ZooError(f"no task '{name}'{nearest(name, list(TASKS))}")
    return TASKS[name]
