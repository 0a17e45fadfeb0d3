"""Options that several commands share; those of a request are made from its pydantic models."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from zoo.registry import Registry
    from zoo.registry.loading import Zoo

Command = TypeVar("Command", bound=Callable[..., Any])
LOADED = "zoo.loaded"  # the key of the loaded plug-ins in a click context


class Place(click.Path):
    """A path to write to. An empty one, as an unset variable in a script gives, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As ``click.Path`` does; fails for an empty path."""
        if value == "":
            self.fail(
                "it is empty; name a directory or a file, or leave the option out", param, ctx
            )
        return super().convert(value, param, ctx)


class RequestCommand(click.Command):
    """A command with the options of a request, among them those of every registered task.

    fields: names of the shared options to offer, None for all of them. data: offer also the
    tasks' options that only decide which data are loaded.
    """

    def __init__(
        self,
        *args: Any,
        fields: Collection[str] | None = None,
        without: Collection[str] = (),
        data: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields, self.without, self.data = fields, without, data

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Load the plug-ins that are named among the arguments, whose tasks have options too."""
        import zoo.registry.loading
        from zoo.config.suite import load_suite

        files = list(_values(args, "--plugin"))
        for suite in _values(args, "--suite"):
            named = load_suite(suite).get("plugins", [])
            files += [named] if isinstance(named, str) else named
        ctx.meta[LOADED] = zoo.registry.loading.load(files)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own options, then those of a request."""
        import zoo.registry.loading

        if LOADED not in ctx.meta:  # a shell asks for completions
            ctx.meta[LOADED] = zoo.registry.loading.load()
        own = super().get_params(ctx)
        return [*own[:-1], *self._request_options(ctx.meta[LOADED].registry), own[-1]]

    def _request_options(self, registry: Registry) -> Iterator[click.Option]:
        from zoo.config.request import flat_fields
        from zoo.tasks.base import find_task

        special = ("seeds", "plugins")  # written by hand: they are given in forms of their own
        for name, model in flat_fields().items():
            if self.fields is not None and name not in self.fields:
                continue
            if name not in self.without and name not in special:
                yield _option(name, model.model_fields[name])
        labels = registry.labels("task")
        found: dict[str, list[str]] = {}
        fields: dict[str, FieldInfo] = {}
        for label in labels:
            options = find_task(registry, label).options
            for name, field in options.model_fields.items():
                if self.data or name not in options.data_fields:
                    found.setdefault(name, []).append(label)
                    fields.setdefault(name, field)
        for name, tasks in found.items():
            yield _option(name, fields[name], "" if tasks == labels else f" [{', '.join(tasks)}]")


def _values(args: Sequence[str], option: str) -> Iterator[str]:
    """The values of an option among arguments that are not parsed yet."""
    for place, word in enumerate(args):
        if word == option and place + 1 < len(args):
            yield args[place + 1]
        elif word.startswith(f"{option}="):
            yield word.partition("=")[2]


def _option(name: str, field: FieldInfo, more: str = "") -> click.Option:
    """The command-line option of a pydantic field; None where it is not given."""
    flag, kind = f"--{name.replace('_', '-')}", _kind(field.annotation)
    default = "" if field.default in (None, "", ()) else f" Default: {field.default}."
    help_text = f"{field.description or ''}{'' if kind is bool else default}{more}"
    if kind is bool:
        return click.Option([f"{flag}/--no-{flag[2:]}"], default=None, help=help_text)
    if kind is tuple:
        return click.Option([flag], metavar="NAMES", help=help_text)
    return click.Option([flag], type=kind, default=None, metavar=_metavar(kind), help=help_text)


def _kind(annotation: Any) -> type:
    """bool, int, float, str or tuple: what the text of an option is converted to."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _kind(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return next(_kind(a) for a in typing.get_args(annotation) if a is not type(None))
    if origin is typing.Literal:
        return str
    if origin is tuple:
        return tuple
    return annotation if annotation in (bool, int, float) else str


def _metavar(kind: type) -> str:
    return {int: "N", float: "X"}.get(kind, "TEXT")


SUITE: Callable[[Any], Any] = click.option(
    "--suite", metavar="FILE", help="A TOML file of options; those on the command line win."
)
DEVICE: Callable[[Any], Any] = click.option(
    "--device", metavar="NAME", help="auto, cpu, cuda or mps."
)
ON: Callable[[Any], Any] = click.option(
    "--on",
    metavar="NAME",
    default="local",
    show_default=True,
    help="The executor that runs the jobs; 'zoo list executor' names them.",
)


def requested(options: dict[str, Any]) -> dict[str, Any]:
    """What ``make_request`` is given: the suite's options, and over them those of the command."""
    from zoo.config.suite import load_suite

    suite = options.get("suite")
    asked = load_suite(suite) if suite else {}
    given = {n: v for n, v in options.items() if v not in (None, ()) and n != "suite"}
    if isinstance(given.get("phases"), str):
        given["phases"] = tuple(part.strip() for part in given["phases"].split(","))
    return asked | given


def plugin_option(command: Command) -> Command:
    """Add ``--plugin FILE``; the command gets ``plugins: tuple[str, ...]``."""
    return click.option(
        "--plugin",
        "plugins",
        metavar="FILE",
        multiple=True,
        help="Also register the components of this Python file; may be repeated.",
    )(command)


def json_option(command: Command) -> Command:
    """Add ``--json``; the command gets ``as_json: bool``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def load_zoo(plugins: Sequence[str] = ()) -> Zoo:
    """All components, and those of the files; warnings go to stderr.

    In a RequestCommand these are the plug-ins that its arguments name, loaded already.
    """
    import zoo.registry.loading

    context = click.get_current_context(silent=True)
    loaded = context.meta.get(LOADED) if context is not None else None
    loaded = loaded or zoo.registry.loading.load(plugins)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    return loaded
