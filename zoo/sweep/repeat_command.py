"""The command that repeats a record."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from zoo.config.request import PARTS, Request
from zoo.config.settings import Training
from zoo.execution.base import ModelSpec
from zoo.tasks.base import Task


def repeat_command(
    request: Request, task: Task, model: ModelSpec, training: Training, seed: int | None = None
) -> str:
    """``zoo bench`` with the options that give this one row again.

    training: the row's own settings. seed: of a training, which is then all that runs; None: of a
    cost.
    """
    request = request.model_copy(update={"training": training})
    words = ["zoo", "bench", *_changed("task", request.task, Request.model_fields["task"].default)]
    if model.baseline:
        words += ["--baseline", model.baseline]
    else:
        words += _axes(task, model)
        words += ["--baseline", "none"]
    if seed is None:
        words += ["--phases", "cost", *_changed_in(request, "rounds")]
    else:
        words += ["--phases", "train", "--seed", str(seed)]
    return shlex.join([*words, *_settings(request, task)])


def scale_command(request: Request, task: Task, model: ModelSpec, over: str, value: int) -> str:
    """``zoo scale`` with the options that give this point again."""
    words = ["zoo", "scale", *_changed("task", request.task, Request.model_fields["task"].default)]
    words += _axes(task, model)
    settings = list(_settings(request, task))
    if "--batch-size" not in settings:  # zoo bench and zoo scale have different defaults
        settings += ["--batch-size", str(request.training.batch_size)]
    words += _changed_in(request, "rounds")
    return shlex.join([*words, *settings, "--over", over, "--values", str(value)])


def values_in(command: str, flag: str) -> Iterator[str]:
    """What a command of a record gives for an option: paths are there and nowhere else."""
    return (value for word, value in itertools.pairwise(shlex.split(command)) if word == flag)


def _axes(task: Task, model: ModelSpec) -> Iterator[str]:
    for axis, choice in model.cell.items():
        if axis not in task.unused:
            yield from (f"--{axis}", choice)


def _settings(request: Request, task: Task) -> Iterator[str]:
    """Every option that decides the result and differs from its default."""
    if request.data is not None:
        yield from ("--data", request.data)
    yield from _different(request.task_options, task.options.model_fields, task.defaults)
    for part, model in PARTS.items():
        values = getattr(request, part).model_dump()
        yield from _different(values, model.model_fields, task.defaults)
    yield from _changed_in(request, "threads")
    for file in request.plugins:
        yield from ("--plugin", file)


def _different(
    values: Mapping[str, Any], fields: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Iterator[str]:
    for name, field in fields.items():
        yield from _changed(name, values[name], defaults.get(name, field.default))


def _changed_in(request: Request, name: str) -> list[str]:
    return _changed(name, getattr(request, name), Request.model_fields[name].default)


def _changed(name: str, value: Any, default: Any) -> list[str]:
    flag = name.replace("_", "-")
    if value == default:
        return []
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}", f"{value}"]
