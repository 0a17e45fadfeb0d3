"""Options of a request, made from its pydantic models and from those of the registered tasks."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import LOADED
from zoo.cli.request_help import (
    DATA,
    OUTPUT,
    SECTIONS,
    TRAINING,
    USUAL,
    WHAT,
    SectionOption,
    Setting,
    help_all_option,
    section_of,
    write_options,
)
from zoo.config.flags import SETTINGS, flag
from zoo.config.settings import TUNABLE
from zoo.errors import ZooError, one_line
from zoo.registry import AXES

if TYPE_CHECKING:
    from pydantic import BaseModel

    from zoo.registry import Registry
    from zoo.sweep.options import Option
    from zoo.tasks.base import Task

PARAMS = "zoo.params"  # the key of a command's parameters in a click context
# Of the fields of Request itself; the others are about where jobs run.
REQUEST_SECTIONS = {
    **dict.fromkeys(("task", *AXES, "baseline", "design"), WHAT),
    "data": DATA,
    **dict.fromkeys(("phases", "reference", "metric"), TRAINING),
}


def option(section: str, *flags: str, **settings: Any) -> Callable[[Any], Any]:
    """``click.option``, under a heading of a RequestCommand's help text."""
    return click.option(*flags, cls=SectionOption, section=section, **settings)


class RequestCommand(click.Command):
    """A command with the options of a request, among them those of every registered task.

    offers: whether it takes an option of a request. Options of executors are offered beside
    ``--on``. What is named in SETTINGS is given as ``--set NAME=VALUE``.
    """

    def __init__(
        self, *args: Any, offers: Callable[[Option], bool] = lambda one: True, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(help_all_option())
        self.offers = offers

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Load the plug-ins that are named among the arguments, whose tasks have options too."""
        import zoo.registry.loading
        from zoo.config.request import load_suite

        files = list(_values(args, "--plugin"))
        if any(param.name == "suite" for param in self.params):
            for suite in _values(args, "--suite"):
                files += load_suite(suite).get("plugins", [])
        ctx.meta[LOADED] = zoo.registry.loading.load(files)
        return super().parse_args(ctx, list(_with_settings(args)))

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own options and those of a request, in the order of the sections."""
        import zoo.registry.loading

        if PARAMS not in ctx.meta:
            if LOADED not in ctx.meta:  # a shell asks for completions
                ctx.meta[LOADED] = zoo.registry.loading.load()
            made = [*super().get_params(ctx), *self._request_options(ctx.meta[LOADED].registry)]
            if settings := [param for param in made if isinstance(param, Setting)]:
                made.append(_set_option(settings))
            ctx.meta[PARAMS] = sorted(made, key=lambda param: SECTIONS.index(section_of(param)))
        return list(ctx.meta[PARAMS])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usual options, or all, under their headings."""
        write_options(ctx, self.get_params(ctx), formatter)

    def _request_options(self, registry: Registry) -> Iterator[click.Option]:
        from zoo.sweep.options import request_options

        executors = any(param.name == "on" for param in self.params)
        found = [
            one
            for one in request_options(registry, _tasks(registry))
            # Seeds have forms of their own.
            if one.name != "seeds" and (executors if one.executor else self.offers(one))
        ]
        tuning = any(one.name == "tuning_seeds" for one in found)
        for one in found:
            name, settings = _settings(one, several=tuning and one.name in (*TUNABLE, "max_length"))
            if one.name in SETTINGS:
                yield Setting([one.name], example=one.default, **settings)
            else:
                yield SectionOption(
                    [name], section=_section(one), usual=one.name in USUAL, **settings
                )


def _section(one: Option) -> str:
    """The heading of an option."""
    from zoo.config.request import PARTS, Request

    if one.part is Request:
        return REQUEST_SECTIONS.get(one.name, OUTPUT)
    if one.part is not None:
        parts = zip(PARTS.values(), (DATA, TRAINING, OUTPUT, TRAINING), strict=True)
        return dict(parts)[one.part]
    return OUTPUT if one.executor else DATA if one.data else WHAT


def field_options(model: type[BaseModel]) -> Callable[[Any], Any]:
    """Options for all fields of a model; the command gets None for one that is not given."""
    from zoo.sweep.options import Option

    def add(command: Any) -> Any:
        for name, field in reversed(model.model_fields.items()):
            spelt, settings = _settings(Option(name, [field]), several=False)
            command = option(DATA, spelt, **settings)(command)
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


def _settings(one: Option, *, several: bool) -> tuple[str, dict[str, Any]]:
    """Flag and settings of an option. several: whether the command chooses among several values."""
    option_flag = flag(one.name)
    # Where tasks disagree about the type, pydantic converts the text for the one that is chosen.
    kind = {"bool": bool, "int": int, "float": float}.get(one.type, str)
    settings: dict[str, Any] = {}
    if kind is bool and one.name in SETTINGS:
        settings = {"type": bool, "metavar": "yes|no"}
    elif kind is bool:
        option_flag += f"/--no-{option_flag[2:]}"
    elif one.name == "max_length" and several:
        settings = {"type": str, "metavar": "N[,N…]"}
    elif one.name in TUNABLE:
        # Text where only one value is taken, too: several get an error that names zoo bench.
        settings = {"type": str, "metavar": "X[,X…]" if several else "X"}
    else:
        settings = {"type": kind, "metavar": {int: "N", float: "X"}.get(kind, "TEXT")}
        if typing.get_origin(annotation := one.fields[0].annotation) is typing.Literal:
            settings["metavar"] = "|".join(map(str, typing.get_args(annotation)))
    return option_flag, {
        **settings,
        "default": None,
        "help": one.help(several=several and one.name in TUNABLE),
    }


def _with_settings(args: Sequence[str]) -> Iterator[str]:
    """The arguments with each ``--set NAME=VALUE`` as one word, as a Setting is called."""
    words = iter(args)
    for word in words:
        option, joined, setting = word.partition("=")
        if option != "--set" or (not joined and (setting := next(words, "")) == ""):
            yield word
            continue
        given = set[str]()
        for one in re.split(r",(?=\s*[\w-]+\s*=)", setting):
            name, equals, value = map(str.strip, one.partition("="))
            name = name.replace("-", "_")
            if not (equals and name):
                raise click.UsageError(f"--set {one}: write --set NAME=VALUE")
            if name in given:
                raise click.UsageError(f"--set {name} is given twice")
            given.add(name)
            yield f"--set {name}={value}"


def _set_option(settings: Sequence[Setting]) -> click.Option:
    """``--set`` itself, for the help text and for shells; ``_with_settings`` reads its values."""
    from click.shell_completion import CompletionItem

    def complete(*given: Any) -> list[CompletionItem]:
        names = (f"{one.name}=" for one in settings)
        return [CompletionItem(name) for name in names if name.startswith(given[-1])]

    return SectionOption(
        ["--set"],
        section=TRAINING,
        metavar="NAME=VALUE",
        multiple=True,
        expose_value=False,
        shell_complete=complete,
        help="Sizes and settings, as in dim=128,layers=4; may be repeated.",
    )


SUITE = option(
    WHAT,
    "--suite",
    metavar="FILE",
    help="A TOML file of options, or the zoo's suite diagnostics. Options on the command line win.",
)
ON = option(
    OUTPUT,
    "--on",
    metavar="NAME",
    default="local",
    show_default=True,
    usual=False,
    help="What runs the work, an executor of 'zoo list executor'.",
)
TRACK = option(
    OUTPUT,
    "--track",
    metavar="NAME[,NAME…]",
    usual=False,
    help="Trackers that show every training once it has ended; 'zoo list tracker' names them.",
)
