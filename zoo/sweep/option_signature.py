"""The options of a request as keyword arguments that ``help``, Tab and type checkers see."""

from __future__ import annotations

import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar

from pydantic.fields import FieldInfo

from zoo.config.request import flat_fields
from zoo.config.settings import OF_SEVERAL, TUNABLE
from zoo.execution.executor_choice import executor_options
from zoo.registry import AXES, Registry
from zoo.registry.loading import built_ins
from zoo.tasks.base import find_task

F = TypeVar("F", bound=Callable[..., Any])
WIDTH = 88


class Option(typing.NamedTuple):
    """One option: the type of its values as text, what it does, and its default."""

    name: str
    annotation: str
    description: str


def with_options(without: Collection[str] = ()) -> Callable[[F], F]:
    """Have a function with ``**options`` show every option by name in signature and docstring.

    without: those that it does not take. An option is None where it is not given: the default is
    the task's. ``**options`` stays, for tasks and executors of plug-ins.
    """

    def decorated(function: F) -> F:
        own = inspect.signature(function)
        *named, rest = own.parameters.values()
        options = [
            option
            for option in request_options(built_ins())
            if option.name not in without and option.name not in own.parameters
        ]
        keywords = [
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=f"{option.annotation} | None",
            )
            for option in options
        ]
        function.__signature__ = own.replace(parameters=[*named, *keywords, rest])  # type: ignore[attr-defined]
        lines = [
            textwrap.fill(f"{option.name}: {option.description}", WIDTH, subsequent_indent="    ")
            for option in options
        ]
        about = inspect.cleandoc(function.__doc__ or "")
        function.__doc__ = "\n".join([about, "", "Options, all by name:", "", *lines, ""])
        return function

    return decorated


def request_options(registry: Registry) -> Iterator[Option]:
    """Every option of ``zoo bench`` that a request, a task or an executor has, shared ones first.

    Plug-in files are not among them: they have a form of their own.
    """
    tasks = {label: find_task(registry, label) for label in registry.labels("task")}
    shared = flat_fields()
    for name, model in shared.items():
        if name != "plugins":
            others = {n: t.defaults[name] for n, t in tasks.items() if name in t.defaults}
            yield _option(name, [model.model_fields[name]], others=others)
    found: dict[str, dict[str, FieldInfo]] = {}
    for label, task in tasks.items():
        for name, field in task.options.model_fields.items():
            if name not in shared:
                found.setdefault(name, {})[label] = field
    for name, fields in found.items():
        only = "" if len(fields) == len(tasks) else f"task {', '.join(fields)} only"
        yield _option(name, list(fields.values()), only)
    for name, fields in executor_options(registry).items():
        yield _option(name, list(fields.values()), f"on {', '.join(fields)} only")


def _option(
    name: str, fields: list[FieldInfo], only: str = "", others: dict[str, Any] | None = None
) -> Option:
    kinds = dict.fromkeys(_type(field.annotation) for field in fields)
    annotation = " | ".join(kinds)
    if name in AXES:
        annotation = "str | Sequence[str]"
    elif name in TUNABLE:
        annotation = "float | Sequence[float]"
    elif name == "seeds":
        annotation = "int | Sequence[int]"
    default = fields[0].default
    notes = [only] if only else []
    if default not in (None, ""):
        different = "".join(f"; {task}: {value!r}" for task, value in (others or {}).items())
        notes.append(f"default: {default!r}{different}")
    several = f" {OF_SEVERAL}" if name in TUNABLE else ""
    noted = f" [{'; '.join(notes)}]" if notes else ""
    return Option(name, annotation, f"{fields[0].description or ''}{several}{noted}")


def _type(annotation: Any) -> str:
    """A type as a type checker reads it, without None."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(inner[0])
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(_type(one) for one in inner if one is not type(None)))
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
    if origin is tuple:
        of = _type(inner[0])
        return "str | Sequence[str]" if "Literal" in of or of == "str" else f"Sequence[{of}]"
    if origin is None and annotation in (bool, int, float, str):
        return str(annotation.__name__)
    return "Any"
