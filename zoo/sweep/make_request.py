"""From flat options to a request: ``dim``, ``epochs``, ``beam`` and so on, next to the axes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from zoo.config.request import PARTS, Request, flat_fields
from zoo.config.settings import TUNABLE, Training
from zoo.errors import ZooError, nearest
from zoo.registry import Registry
from zoo.registry.naming import split_list
from zoo.tasks.base import Task, find_task


def make_request(options: Mapping[str, Any], registry: Registry) -> Request:
    """A request from flat options; what is None or missing is as the task has it.

    Lists become comma lists, ``seeds=3`` the seeds 0, 1, 2. Raises ZooError for an option that
    does not exist, that belongs to another task or has no effect in this one, or a value out of
    bounds.
    """
    given = {name: value for name, value in options.items() if value is not None}
    task_name = str(given.pop("task", Request.model_fields["task"].default))
    task = find_task(registry, task_name)
    fields = flat_fields()
    parts: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    own: dict[str, Any] = {}
    tuned: dict[str, tuple[float, ...]] = {}
    request: dict[str, Any] = {"task": task_name}
    for name, value in {**task.defaults, **given}.items():
        if name in given and name in task.unused:
            why = task.unused[name]
            raise ZooError(f"{_flag(name)} has no effect with --task {task_name}: {why}")
        if name in task.options.model_fields:
            own[name] = value
        elif name not in fields:
            raise ZooError(_unknown(name, task_name, task, registry))
        elif fields[name] is Request:
            request[name] = _plain(name, value)
        elif name in TUNABLE:
            values = _numbers(name, value)
            parts["training"][name] = values[0]
            if len(values) > 1:
                tuned[name] = values
        else:
            part = next(part for part, model in PARTS.items() if model is fields[name])
            parts[part][name] = value
    if tuned and parts["training"].get("validation"):
        raise ZooError(
            f"--validation scores a held-out part, on which {_flag(next(iter(tuned)))} would be "
            "chosen too: use one of the two"
        )
    task_options = _validated(task.options, own).model_dump(mode="json")
    made: Request = _validated(
        Request, {**request, **parts, "tuned": tuned, "task_options": task_options}
    )
    return made


def refuse_several_values(request: Request, command: str) -> None:
    """ZooError where settings have several values to choose from, which this command does not."""
    for name, values in request.tuned.items():
        listed = ",".join(f"{value:g}" for value in values)
        raise ZooError(
            f"{_flag(name)} {listed}: {command} takes one value; zoo bench chooses among several"
        )


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    """The values of a training setting: one, or several to choose from."""
    if isinstance(value, str):
        value = split_list(value, f"{_flag(name)} ")
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values:
        raise ZooError(f"{_flag(name)}: no value")
    read = (getattr(_validated(Training, {name: one}), name) for one in values)
    return tuple(dict.fromkeys(read))


def _validated(model: type[BaseModel], values: dict[str, Any]) -> Any:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = next((str(p) for p in reversed(first["loc"]) if isinstance(p, str)), "request")
        raise ZooError(f"{_flag(name)} {first['input']!r}: {first['msg']}") from None


def _unknown(name: str, task_name: str, task: Task, registry: Registry) -> str:
    """Why there is no such option: it is another task's, or misspelt."""
    labels = [registry.label(component) for component in registry.components("task")]
    owners = [label for label in labels if _has_option(registry, label, name)]
    if owners:
        return (
            f"{_flag(name)} is an option of --task {' or '.join(owners)}, and this is {task_name}"
        )
    known = [*flat_fields(), *task.options.model_fields]
    return f"no option '{name}'{nearest(name, known)}"


def _has_option(registry: Registry, task: str, name: str) -> bool:
    """Whether a task has the option; a task that cannot be built has none."""
    try:
        return name in find_task(registry, task).options.model_fields
    except ZooError:
        return False


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _plain(name: str, value: Any) -> Any:
    """A list as the comma list that it means; a number of seeds as the seeds."""
    if name == "seeds" and isinstance(value, int) and not isinstance(value, bool):
        if value < 1:
            raise ZooError(f"--seeds {value}: at least 1")
        return tuple(range(value))
    if name in ("phases", "plugins"):
        return (value,) if isinstance(value, str) else tuple(value)
    if name != "seeds" and isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    return str(value) if isinstance(value, Path) else value
