"""Every option of a request: what the command line, and the functions of ``import zoo``, offer."""

from __future__ import annotations

import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic.fields import FieldInfo

from zoo.config.request import flat_fields
from zoo.config.settings import OF_SEVERAL
from zoo.registry import AXES, Registry
from zoo.registry.loading import built_ins
from zoo.tasks.base import Task, find_task

F = TypeVar("F", bound=Callable[..., Any])
WIDTH = 88


@dataclass(frozen=True)
class Option:
    """One option. An option of several tasks has a field of each.

    only: who alone has it, in words. defaults: of tasks, where they are not the field's. data: it
    only decides which data are loaded.
    """

    name: str
    fields: Sequence[FieldInfo]
    only: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    data: bool = False

    @property
    def type(self) -> str:
        """The type of its values, without None, as a type checker reads it."""
        if self.name in AXES:
            return "str | Sequence[str]"
        if self.name == "lr":
            return "float | Sequence[float]"
        return " | ".join(dict.fromkeys(_type(field.annotation) for field in self.fields))

    def help(self, compares: bool = True) -> str:
        """What it does and its defaults. compares: whether several models are compared."""
        default = as_text(self.fields[0].default)
        others = "".join(f"; {label}: {as_text(value)}" for label, value in self.defaults.items())
        notes = filter(None, [self.only, f"default: {default}{others}" if default else ""])
        several = compares and self.name == "lr"
        text = f"{self.fields[0].description or ''}{f' {OF_SEVERAL}' if several else ''}"
        return f"{text}  [{noted}]" if (noted := "; ".join(notes)) else text


def request_options(registry: Registry, tasks: Mapping[str, Task]) -> Iterator[Option]:
    """Every option that a request or one of these tasks has, shared ones first.

    Plug-in files are not among them: they have a form of their own.
    """
    shared = flat_fields()
    for name, model in shared.items():
        if name != "plugins":
            defaults = {
                n: task.defaults[name] for n, task in tasks.items() if name in task.defaults
            }
            yield Option(name, [model.model_fields[name]], defaults=defaults)
    of_tasks: dict[str, dict[str, FieldInfo]] = {}
    for label, task in tasks.items():
        for name, info in task.options.model_fields.items():
            if name not in shared:
                of_tasks.setdefault(name, {})[label] = info
    for name, fields in of_tasks.items():
        only = "" if len(fields) == len(tasks) else f"{', '.join(fields)} only"
        data = any(name in tasks[label].reads_rows.model_fields for label in fields)
        yield Option(name, list(fields.values()), only=only, data=data)


def as_text(value: Any) -> str:
    """A default as it would be given; empty where there is none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


class OptionsSignature(inspect.Signature):
    """A signature of a short text, so that ``help`` begins with what the function does.

    All its parameters are there for completion.
    """

    def __str__(self) -> str:
        return "(attention=None, pe=None, **options)"

    def format(self, **_: Any) -> str:
        """The same, for ``help`` from Python 3.13 on."""
        return str(self)


def with_options(without: Collection[str] = ()) -> Callable[[F], F]:
    """Have a function with ``**options`` show every option by name in signature and docstring.

    without: those that it does not take. An option is None where it is not given: the default is
    the task's. ``**options`` stays, for tasks of plug-ins.
    """

    def decorated(function: F) -> F:
        own = inspect.signature(function)
        *named, rest = own.parameters.values()
        registry = built_ins()
        tasks = {label: find_task(registry, label) for label in registry.labels("task")}
        keywords, lines = [], []
        for option in request_options(registry, tasks):
            if option.name not in (*without, *own.parameters):
                keyword = inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY)
                annotation = f"{option.type} | None"
                keywords.append(keyword.replace(default=None, annotation=annotation))
                text = f"{option.name}: {option.help()}"
                lines.append(textwrap.fill(text, WIDTH, subsequent_indent="    "))
        function.__signature__ = OptionsSignature(  # type: ignore[attr-defined]
            [*named, *keywords, rest], return_annotation=own.return_annotation
        )
        about = inspect.cleandoc(function.__doc__ or "")
        function.__doc__ = "\n".join([about, "", "Options, all by name:", "", *lines, ""])
        return function

    return decorated


def _type(annotation: Any) -> str:
    """A type as a type checker reads it, without None."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(inner[0])
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(_type(each) for each in inner if each is not type(None)))
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
    if origin is tuple:
        of = _type(inner[0])
        return "str | Sequence[str]" if "Literal" in of or of == "str" else f"Sequence[{of}]"
    if origin is None and annotation in (bool, int, float, str):
        return str(annotation.__name__)
    return "Any"
