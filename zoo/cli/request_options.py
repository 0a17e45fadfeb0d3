"""Options of a request, made from its pydantic models and from those of the registered tasks."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import LOADED
from zoo.cli.request_help import (
    DATA,
    MEASURING,
    MODEL,
    OUTPUT,
    SECTIONS,
    TRAINING,
    USUAL,
    WHAT,
    WHERE,
    SectionOption,
    help_all_option,
    section_of,
    write_options,
)
from zoo.config.settings import OF_SEVERAL, TUNABLE
from zoo.errors import ZooError, one_line
from zoo.registry import AXES
from zoo.registry.catalog import split_list

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from zoo.config.request import Request
    from zoo.registry import Choice, Registry
    from zoo.tasks.base import Task

PARAMS = "zoo.params"  # the key of a command's parameters in a click context
# Of the fields of Request itself; the others are about where jobs run.
REQUEST_SECTIONS = {
    **dict.fromkeys(("task", *AXES, "baseline", "design"), WHAT),
    "data": DATA,
    **dict.fromkeys(("tuning_seeds", "tuning_share"), TRAINING),
    **dict.fromkeys(("phases", "reference", "metric", "rounds"), MEASURING),
    "save_models": OUTPUT,
}


def option(section: str, *flags: str, **settings: Any) -> Callable[[Any], Any]:
    """``click.option``, under a heading of a RequestCommand's help text."""
    return click.option(*flags, cls=SectionOption, section=section, **settings)


class Names(click.ParamType[tuple[str, ...]]):
    """A comma list as a tuple."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        # An empty name is refused with the names that there are.
        return tuple(split_list(value, f"{param.opts[0]} " if param else "")) or ("",)


class RequestCommand(click.Command):
    """A command with the options of a request, among them those of every registered task.

    fields: names of the shared options to offer, None for all of them. without: options not to
    offer. data: offer also the tasks' options that only decide which data are loaded; other_tasks:
    offer their other options. Options of executors are offered beside ``--on``.
    """

    def __init__(
        self,
        *args: Any,
        fields: Collection[str] | None = None,
        without: Collection[str] = (),
        data: bool = True,
        other_tasks: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(help_all_option())
        self.fields, self.without, self.data, self.other_tasks = fields, without, data, other_tasks

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Load the plug-ins that are named among the arguments, whose tasks have options too."""
        import zoo.registry.loading
        from zoo.config.suite import load_suite

        files = list(_values(args, "--plugin"))
        if any(param.name == "suite" for param in self.params):
            for suite in _values(args, "--suite"):
                files += load_suite(suite).get("plugins", [])
        ctx.meta[LOADED] = zoo.registry.loading.load(files)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own options and those of a request, in the order of the sections."""
        import zoo.registry.loading

        if PARAMS not in ctx.meta:
            if LOADED not in ctx.meta:  # a shell asks for completions
                ctx.meta[LOADED] = zoo.registry.loading.load()
            made = [*super().get_params(ctx), *self._request_options(ctx.meta[LOADED].registry)]
            ctx.meta[PARAMS] = sorted(made, key=lambda param: SECTIONS.index(section_of(param)))
        return list(ctx.meta[PARAMS])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usual options, or all, under their headings."""
        write_options(ctx, self.get_params(ctx), formatter)

    def _request_options(self, registry: Registry) -> Iterator[click.Option]:
        from zoo.config.request import PARTS, Request, flat_fields
        from zoo.execution.executor_choice import executor_options

        tasks, shared = _tasks(registry), flat_fields()
        sections = dict(zip(PARTS.values(), (MODEL, TRAINING, WHERE, TRAINING), strict=True))
        without = {*self.without, "seeds", "plugins"}  # these two have forms of their own
        for name, model in shared.items():
            if name in without or (self.fields is not None and name not in self.fields):
                continue
            section = sections.get(model, WHERE)
            if model is Request:
                section = REQUEST_SECTIONS.get(name, WHERE)
            defaults = {n: t.defaults[name] for n, t in tasks.items() if name in t.defaults}
            several = name in TUNABLE and "tuning_seeds" not in without
            yield _option(name, [model.model_fields[name]], section, defaults, several=several)
        found: dict[str, dict[str, FieldInfo]] = {}
        for label, task in tasks.items():
            for name, field in task.options.model_fields.items():
                offered = self.data if name in task.options.data_fields else self.other_tasks
                if name not in shared and name not in without and offered:
                    found.setdefault(name, {})[label] = field
        for name, fields in found.items():
            data = any(name in tasks[label].options.data_fields for label in fields)
            only = "" if len(fields) == len(tasks) else f"{' and '.join(fields)} only"
            yield _option(name, list(fields.values()), DATA if data else WHAT, {}, only)
        with_executors = any(param.name == "on" for param in self.params)
        for name, owners in executor_options(registry).items() if with_executors else ():
            only = f"--on {' and '.join(owners)} only"
            yield _option(name, list(owners.values()), WHERE, {}, only)


def field_options(model: type[BaseModel]) -> Callable[[Any], Any]:
    """Options for all fields of a model; the command gets None for one that is not given."""

    def add(command: Any) -> Any:
        for name, field in reversed(model.model_fields.items()):
            flag, settings = _settings(name, [field], DATA, {})
            command = option(settings.pop("section"), flag, **settings)(command)
        return command

    return add


def _tasks(registry: Registry) -> dict[str, Task]:
    """Every registered task by its name; one that is broken is left out, with a warning."""
    from zoo.tasks.base import find_task

    tasks = {}
    for label in registry.labels("task"):
        try:
            tasks[label] = find_task(registry, label)
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything
            reason = str(error) if isinstance(error, ZooError) else one_line(error)
            click.echo(f"warning: the options of task '{label}' are left out: {reason}", err=True)
    return tasks


def _values(args: Sequence[str], name: str) -> Iterator[str]:
    """The values of an option among arguments that are not parsed yet."""
    for place, word in enumerate(args):
        if word == name and place + 1 < len(args):
            yield args[place + 1]
        elif word.startswith(f"{name}="):
            yield word.partition("=")[2]


def _option(
    name: str,
    fields: Sequence[FieldInfo],
    section: str,
    defaults: Mapping[str, Any],
    only: str = "",
    several: bool = False,
) -> click.Option:
    """The command-line option of a pydantic field; None where it is not given."""
    flag, settings = _settings(name, fields, section, defaults, only, several)
    return SectionOption([flag], usual=name in USUAL, **settings)


def _settings(
    name: str,
    fields: Sequence[FieldInfo],
    section: str,
    defaults: Mapping[str, Any],
    only: str = "",
    several: bool = False,
) -> tuple[str, dict[str, Any]]:
    """Flag and settings of an option that is made from a pydantic field.

    fields: of the tasks that share the option. defaults: of tasks, where they are not the field's.
    only: which tasks have the option. several: whether the command chooses among several values.
    """
    flag, kinds = f"--{name.replace('_', '-')}", {_kind(field.annotation) for field in fields}
    # Tasks may disagree about the type; pydantic converts the text for the one that is chosen.
    kind = kinds.pop() if len(kinds) == 1 else str
    listed = name in TUNABLE
    default = _as_text(fields[0].default)
    others = "".join(f"; {label}: {_as_text(value)}" for label, value in defaults.items())
    notes = "; ".join(filter(None, [only, f"default: {default}{others}" if default else ""]))
    settings: dict[str, Any] = {}
    if kind is bool:
        flag = f"{flag}/--no-{flag[2:]}"
    elif listed:
        # Text where only one value is taken, too: several get an error that names zoo bench.
        settings = {"type": str, "metavar": "X[,X…]" if several else "X"}
    elif kind is tuple:
        settings = {"type": Names(), "metavar": "NAMES"}
    else:
        settings = {"type": kind, "metavar": {int: "N", float: "X"}.get(kind, "TEXT")}
        if typing.get_origin(fields[0].annotation) is typing.Literal:
            settings["metavar"] = "|".join(map(str, typing.get_args(fields[0].annotation)))
    chosen = f" {OF_SEVERAL}" if several else ""
    help_text = f"{fields[0].description or ''}{chosen}{f'  [{notes}]' if notes else ''}"
    return flag, {**settings, "section": section, "default": None, "help": help_text}


def _kind(annotation: Any) -> type:
    """bool, int, float, str or tuple: what the text of an option is converted to."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Annotated, typing.Union, types.UnionType):
        return next(_kind(a) for a in typing.get_args(annotation) if a is not type(None))
    if origin is tuple:
        return tuple
    return annotation if annotation in (bool, int, float) else str


def _as_text(value: Any) -> str:
    """A default as it would be given; empty where there is none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


SUITE = option(
    WHAT,
    "--suite",
    metavar="FILE",
    help="A TOML file of options, or a suite of the zoo's own: diagnostics. Options on the command "
    "line win.",
)
ON = option(
    WHERE,
    "--on",
    metavar="NAME",
    default="local",
    show_default=True,
    help="The executor that runs the jobs; 'zoo list executor' names them.",
)
TRACK = option(
    OUTPUT,
    "--track",
    metavar="NAME[,NAME…]",
    usual=False,
    help="Trackers that show the run while it goes on; 'zoo list tracker' names them.",
)


def chosen_executor(on: str, options: dict[str, Any], registry: Registry) -> Choice:
    """The executor of ``--on`` with its own options, which are taken out of the others.

    Raises ZooError where there is none, or an option is another executor's.
    """
    from zoo.execution.executor_choice import choose_executor, executor_options

    own = {name: options.pop(name, None) for name in executor_options(registry)}
    return choose_executor(registry, on, own)


def build_requests(
    options: Mapping[str, Any], registry: Registry, ignored: Collection[str] = ()
) -> list[Request]:
    """The requests of a suite's options and, over them, those of the command line, one a data set.

    ignored: options that a suite may hold and that this command has no use for. Raises ZooError,
    which names the suite where the mistake is there.
    """
    from zoo.config.suite import load_suite
    from zoo.inference.directory import with_initial_models
    from zoo.sweep.make_request import make_requests

    suite = options.get("suite")
    given = {n: v for n, v in options.items() if v not in (None, ()) and n != "suite"}
    if not suite:
        return with_initial_models(make_requests(given, registry), registry)
    held = {name: value for name, value in load_suite(suite).items() if name not in ignored}
    given["plugins"] = (*held.get("plugins", ()), *given.get("plugins", ()))
    try:
        return with_initial_models(make_requests(given, registry, held), registry)
    except ZooError as error:
        try:
            make_requests({}, registry, held)
        except ZooError as own:
            if str(own) == str(error):
                raise ZooError(f"suite {suite}: {error}") from None
        raise


def build_request(
    options: Mapping[str, Any], registry: Registry, ignored: Collection[str] = ()
) -> Request:
    """The same where there is one data set; ZooError where there are several."""
    requests = build_requests(options, registry, ignored)
    if len(requests) > 1:
        names = ", ".join(str(request.data) for request in requests)
        raise ZooError(f"this command takes one data set, not {len(requests)} ({names})")
    return requests[0]
