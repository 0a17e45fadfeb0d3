"""Jobs, and the executors that run them: those of the zoo, and which is chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zoo.config.flags import flag
from zoo.errors import ComponentError, ZooError
from zoo.registry import Choice, Component, Register, Registry
from zoo.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in executors."""
    register(
        "executor",
        "local",
        "zoo.execution.local:LocalExecutor",
        summary="each job in a process of its own on this machine",
    )
    register(
        "executor",
        "inline",
        "zoo.execution.local:InlineExecutor",
        summary="every job in this process, for debuggers and notebooks",
    )


def executor_options(registry: Registry) -> dict[str, dict[str, FieldInfo]]:
    """The name of every option of an executor, to the executors that have it, each with its field.

    An executor that cannot be imported has none; it says so when it is chosen.
    """
    found: dict[str, dict[str, FieldInfo]] = {}
    for component in registry.components("executor"):
        for name, field in _fields(component).items():
            found.setdefault(name, {})[registry.label(component)] = field
    return found


def choose_executor(registry: Registry, on: str, options: dict[str, Any]) -> Choice:
    """The executor of that name, with its own options: they are taken out of ``options``.

    Raises ZooError where there is none, or an option is another executor's or has a bad value.
    """
    from zoo.config.request import validated

    choice = registry.choose("executor", on)
    own = {name: options.pop(name, None) for name in executor_options(registry)}
    given = {name: value for name, value in own.items() if value is not None}
    fields = _fields(choice.component)
    for name in given:
        if name not in fields:
            owners = " or ".join(executor_options(registry).get(name, {}))
            raise ZooError(f"{flag(name)} is an option of --on {owners}, and this is {on}")
    if given:
        validated(choice.component.resolve().options, given)  # type: ignore[attr-defined]
    return replace(choice, given={**choice.given, **given})


def _fields(component: Component) -> dict[str, FieldInfo]:
    try:
        model: type[BaseModel] | None = getattr(component.resolve(), "options", None)
    except ComponentError:
        return {}
    return dict(model.model_fields) if model is not None else {}
