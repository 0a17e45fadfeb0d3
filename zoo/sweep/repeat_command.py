"""The command that repeats a record."""

from __future__ import annotations

import shlex
from typing import Any

from pydantic import BaseModel

from zoo.config.request import Request
from zoo.execution.base import Subject
from zoo.tasks.catalog import find_task
from zoo.tasks.score import CLASSIFY


def repeat_command(request: Request, subject: Subject, seed: int | None = None) -> str:
    """``zoo bench`` with the options that give this one row again (and this seed alone)."""
    task = find_task(request.task)
    words = ["zoo", "bench", *_changed("task", request.task, CLASSIFY)]
    if subject.baseline:
        words += ["--baseline", subject.baseline]
    else:
        for axis, choice in subject.cell:
            if axis not in task.ignored:
                words += [f"--{axis}", choice]
        words += ["--baseline", "none"]
    if seed is not None:
        words += ["--seed", str(seed)]
    for name in ("data", "text_column", "label_column", "beam"):
        default = task.defaults.get(name, Request.model_fields[name].default)
        words += _changed(name, getattr(request, name), default)
    if request.keep_duplicates:
        words.append("--keep-duplicates")
    if not request.read_last:
        words.append("--full-attention")
    for part in (request.sizes, request.training, request.execution):
        for name, field in type(part).model_fields.items():
            words += _changed(name, getattr(part, name), task.defaults.get(name, field.default))
    for file in request.plugins:
        words += ["--plugin", file]
    return shlex.join(words)


def _changed(name: str, value: Any, default: Any) -> list[str]:
    assert not isinstance(value, BaseModel)
    option = f"--{name.replace('_', '-')}"
    if value == default:
        return []
    return [option] if value is True else [option, f"{value}"]
