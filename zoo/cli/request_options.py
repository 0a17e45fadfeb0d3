"""Options of a request, made from its pydantic models and from those of the registered tasks."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import LOADED
from zoo.config.settings import SETTINGS, flag
from zoo.errors import ZooError, one_line
from zoo.registry import AXES

if TYPE_CHECKING:
    from pydantic import BaseModel

    from zoo.registry import Registry
    from zoo.sweep.options import Option
    from zoo.tasks.base import Task

# The headings of the help text, in their order; a command's own options are under the first.
RUN, WHAT, DATA, TRAINING, SET = SECTIONS = (
    "The command",
    "What",
    "Data",
    "Training and measuring",
    "Sizes and settings, each as --set NAME=VALUE",
)
PARAMS = "zoo.params"  # the key of a command's parameters in a click context


class RequestOption(click.Option):
    """An option of a request, under one of the ``SECTIONS``; pydantic converts its text.

    compares: whether the command compares several models.
    """

    def __init__(self, option: Option, compares: bool) -> None:
        name, metavar = flag(option.name), metavar_of(option, compares)
        settings: dict[str, Any] = {"metavar": metavar}
        if metavar == "yes|no":
            name, settings = f"{name}/--no-{name[2:]}", {"type": bool}
        super().__init__([name], default=None, help=option.help(compares), **settings)
        self.section = DATA if option.data or option.name == "data" else TRAINING
        if option.name in ("task", *AXES, "baseline", "design"):
            self.section = WHAT


class SetOption(click.Option):
    """``--set NAME=VALUE``, which gives the command an option for each name.

    settings: name to the metavar of its value and its help text. A name that is not among them is
    refused with all other options of the request.
    """

    section = TRAINING

    def __init__(self, settings: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(
            ["--set"],
            metavar="NAME=VALUE",
            multiple=True,
            expose_value=False,
            callback=self._read,
            help="Sizes and settings, as in dim=128,layers=4; may be repeated.",
        )
        self.settings = settings

    def _read(self, ctx: click.Context, _: click.Parameter, texts: Sequence[str]) -> None:
        """Put every value into the command's parameters; UsageError for what is no setting."""
        flags = {param.name: param.opts[0] for param in ctx.command.get_params(ctx)}
        values: dict[str, str] = {}
        for pair in (pair for text in texts for pair in re.split(r",(?=\s*[\w-]+\s*=)", text)):
            name, equals, value = (part.strip() for part in pair.partition("="))
            name = name.replace("-", "_")
            if not (equals and name):
                raise click.UsageError(f"--set {pair}: write --set NAME=VALUE", ctx)
            if name in flags:
                raise click.UsageError(f"no option '--set {name}'; it is {flags[name]}", ctx)
            values[name] = value
        ctx.params.update({**dict.fromkeys(self.settings), **values})


class RequestCommand(click.Command):
    """A command with the options of a request, among them those of every registered task.

    offers: whether it takes an option of a request. What is named in SETTINGS is given as
    ``--set NAME=VALUE``.
    """

    def __init__(
        self, *args: Any, offers: Callable[[Option], bool] = lambda _: True, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
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
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own options and those of a request, in the order of the sections."""
        import zoo.registry.loading

        if PARAMS not in ctx.meta:
            if LOADED not in ctx.meta:  # its page in the documentation is made
                ctx.meta[LOADED] = zoo.registry.loading.load()
            made = [*super().get_params(ctx), *self._request_options(ctx.meta[LOADED].registry)]
            ctx.meta[PARAMS] = sorted(made, key=lambda param: SECTIONS.index(section(param)))
        return list(ctx.meta[PARAMS])

    def _request_options(self, registry: Registry) -> Iterator[click.Option]:
        from zoo.sweep.options import request_options

        offered = [
            option
            for option in request_options(registry, _tasks(registry))
            # Seeds have forms of their own.
            if option.name != "seeds" and self.offers(option)
        ]
        compares = any(option.name == "design" for option in offered)
        yield from (RequestOption(o, compares) for o in offered if o.name not in SETTINGS)
        if settings := [option for option in offered if option.name in SETTINGS]:
            yield SetOption({o.name: (metavar_of(o, compares), o.help(compares)) for o in settings})

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all options under their headings, and the settings under the last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        settings: Mapping[str, tuple[str, str]] = {}
        for param in self.get_params(ctx):
            settings = getattr(param, "settings", settings)
            if record := param.get_help_record(ctx):
                groups.setdefault(section(param), []).append(record)
        if settings:
            groups[SET] = [(f"{name}={value}", text) for name, (value, text) in settings.items()]
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=24)


def section(param: click.Parameter) -> str:
    """The heading of a parameter in the help text."""
    return getattr(param, "section", RUN)


def field_options(model: type[BaseModel]) -> Callable[[Any], Any]:
    """Options for all fields of a model; the command gets None for one that is not given."""
    from zoo.sweep.options import Option

    def add(command: Any) -> Any:
        for name, field in reversed(model.model_fields.items()):
            made = RequestOption(Option(name, [field], data=True), False)
            command.__dict__.setdefault("__click_params__", []).append(made)
        return command

    return add


def metavar_of(option: Option, compares: bool) -> str:
    """What stands for the value of an option."""
    if option.type == "bool":
        return "yes|no"
    annotation = option.fields[0].annotation
    if typing.get_origin(annotation) is typing.Literal:
        return "|".join(map(str, typing.get_args(annotation)))
    if option.name == "lr":
        return "X[,X…]" if compares else "X"
    if option.name == "max_length" and compares:
        return "N[,N…]"
    return {"int": "N", "float": "X"}.get(option.type, "TEXT")


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


SUITE = click.option(
    "--suite",
    metavar="FILE",
    help="A TOML file of options, or the zoo's suite diagnostics. Options on the command line win.",
)
ON = click.option(
    "--on",
    metavar="NAME",
    default="local",
    show_default=True,
    help="What runs the work, an executor of 'zoo list executor' with its parameters.",
)
TRACK = click.option(
    "--track",
    metavar="NAME[,NAME…]",
    help="Trackers that show every training once it has ended; 'zoo list tracker' names them.",
)
