"""Options of a request, made from its pydantic models and from those of the registered tasks.

The help text shows the usual ones in a line or two each, or all of them.
"""

from __future__ import annotations

import itertools
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import LOADED
from zoo.config.flags import SETTINGS, flag
from zoo.config.settings import TUNABLE
from zoo.errors import ZooError, close_match, one_line
from zoo.registry import AXES

if TYPE_CHECKING:
    from pydantic import BaseModel

    from zoo.registry import Registry
    from zoo.sweep.options import Option
    from zoo.tasks.base import Task

# The headings of the help text, in their order.
WHAT, DATA, TRAINING, OUTPUT, SET, OTHER = SECTIONS = (
    "What",
    "Data",
    "Training and measuring",
    "Where and output",
    "Sizes and settings, each as --set NAME=VALUE",
    "Other",
)
# Of the fields of Request itself; the others are about where jobs run.
REQUEST_SECTIONS = {
    **dict.fromkeys(("task", *AXES, "baseline", "design"), WHAT),
    "data": DATA,
    **dict.fromkeys(("phases", "reference", "metric"), TRAINING),
}
# Options of a request that --help shows; of a command's own options it shows all but those that
# are declared with usual=False. --help-all shows every one.
USUAL = frozenset(
    (
        *("task", "attention", "pe", "norm", "ffn", "block", "pool", "baseline"),
        *("data", "test", "text_column", "label_column", "max_length", "epochs", "phases"),
    )
)
PARAMS = "zoo.params"  # the key of a command's parameters in a click context
_ALL = "zoo.help_all"  # the key that says that all options are shown


class SectionOption(click.Option):
    """An option under one of the ``SECTIONS``. usual: whether --help shows it."""

    def __init__(self, *args: Any, section: str, usual: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section, self.usual = section, usual


class SetOption(SectionOption):
    """``--set NAME=VALUE``, which gives the command an option for each name.

    settings: name to the metavar of its value and its help text.
    """

    def __init__(self, settings: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(
            ["--set"],
            section=TRAINING,
            metavar="NAME=VALUE",
            multiple=True,
            expose_value=False,
            callback=self._read,
            help="Sizes and settings, as in dim=128,layers=4; may be repeated.",
        )
        self.settings = settings

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The names that begin so."""
        from click.shell_completion import CompletionItem

        names = (f"{name}=" for name in self.settings)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]

    def _read(self, ctx: click.Context, _: click.Parameter, given: Sequence[str]) -> None:
        """Put every value into the command's parameters; UsageError that says all that is wrong."""
        flags = {str(param.name): param.opts[0] for param in ctx.command.get_params(ctx)}
        values: dict[str, str] = {}
        wrong = []
        for texts in (re.split(r",(?=\s*[\w-]+\s*=)", each) for each in given):
            pairs = [text.partition("=") for text in texts]
            names = [name.strip().replace("-", "_") for name, _, _ in pairs]
            for name, (text, equals, value) in zip(names, pairs, strict=True):
                if not (equals and name):
                    wrong.append(f"--set {text}{equals}{value}: write --set NAME=VALUE")
                elif name in flags:
                    wrong.append(f"no option '--set {name}'; it is {flags[name]}")
                elif name not in self.settings:
                    meant = close_match(name, self.settings)
                    hint = f"did you mean --set {meant}=…?" if meant else "--help-all lists them"
                    wrong.append(f"no option '--set {name}'; {hint}")
                elif names.count(name) > 1:
                    wrong.append(f"--set {name} is given twice")
                else:
                    values[name] = value.strip()
        if wrong:
            raise click.UsageError("; ".join(dict.fromkeys(wrong)), ctx)
        ctx.params.update({**dict.fromkeys(self.settings), **values})


def option(section: str, *flags: str, **settings: Any) -> Callable[[Any], Any]:
    """``click.option``, under a heading of a RequestCommand's help text."""
    return click.option(*flags, cls=SectionOption, section=section, **settings)


class RequestCommand(click.Command):
    """A command with the options of a request, among them those of every registered task.

    offers: whether it takes an option of a request. What is named in SETTINGS is given as
    ``--set NAME=VALUE``.
    """

    def __init__(
        self, *args: Any, offers: Callable[[Option], bool] = lambda _: True, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(_help_all_option())
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
            if LOADED not in ctx.meta:  # a shell asks for completions
                ctx.meta[LOADED] = zoo.registry.loading.load()
            made = [*super().get_params(ctx), *self._request_options(ctx.meta[LOADED].registry)]
            ctx.meta[PARAMS] = sorted(made, key=lambda param: SECTIONS.index(_section(param)))
        return list(ctx.meta[PARAMS])

    def _request_options(self, registry: Registry) -> Iterator[click.Option]:
        from zoo.sweep.options import request_options

        offered = [
            one
            for one in request_options(registry, _tasks(registry))
            # Seeds have forms of their own.
            if one.name != "seeds" and self.offers(one)
        ]
        compares = any(one.name == "tuning_seeds" for one in offered)
        settings = {}
        for one in offered:
            if one.name in SETTINGS:
                several = compares and one.name in TUNABLE
                settings[one.name] = _metavar(one, compares), one.help(several=several)
            else:
                yield _click_option(one, compares)
        if settings:
            yield SetOption(settings)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usual options, or all, under their headings."""
        params = self.get_params(ctx)
        options = [param for param in params if isinstance(param, click.Option)]
        records = [(_section(o), r) for o in options if (r := o.get_help_record(ctx))]
        settings = next((p.settings for p in params if isinstance(p, SetOption)), {})
        records += [(SET, (f"{n}={metavar}", text)) for n, (metavar, text) in settings.items()]
        whole, more = ctx.meta.get(_ALL, False), "In Python, help(zoo.bench) has every description."
        if not whole:
            usual = [o for o in options if _is_usual(o)]
            more = f"--help-all lists all {len(records)} options and settings."
            records = [(_section(o), r) for o in usual if (r := o.get_help_record(ctx))]
        records.sort(key=lambda record: SECTIONS.index(record[0]))
        for heading, group in itertools.groupby(records, lambda record: record[0]):
            with formatter.section(heading):
                lines = [_short(*record, heading == SET) for _, record in group]
                formatter.write_dl(lines, col_max=24)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"[ ]: the default. {more}")


def field_options(model: type[BaseModel]) -> Callable[[Any], Any]:
    """Options for all fields of a model; the command gets None for one that is not given."""
    from zoo.sweep.options import Option

    def add(command: Any) -> Any:
        for name, field in reversed(model.model_fields.items()):
            made = _click_option(Option(name, [field], data=True), False)
            command.__dict__.setdefault("__click_params__", []).append(made)
        return command

    return add


def _click_option(one: Option, compares: bool) -> SectionOption:
    """An option of a request. compares: whether the command compares several models."""
    from zoo.config.request import PARTS, Request

    name, metavar = flag(one.name), _metavar(one, compares)
    settings: dict[str, Any] = {"metavar": metavar}
    if metavar == "yes|no":
        name, settings = f"{name}/--no-{name[2:]}", {"type": bool}
    section = DATA if one.data else WHAT
    if one.part is Request:
        section = REQUEST_SECTIONS.get(one.name, OUTPUT)
    elif one.part is not None:
        section = dict(zip(PARTS.values(), (DATA, TRAINING, OUTPUT, TRAINING), strict=True))[
            one.part
        ]
    return SectionOption(
        [name],
        section=section,
        usual=one.name in USUAL,
        default=None,
        help=one.help(several=compares and one.name in TUNABLE),
        **settings,
    )


def _metavar(one: Option, compares: bool) -> str:
    """What stands for its value; pydantic converts the text."""
    if one.type == "bool":
        return "yes|no"
    annotation = one.fields[0].annotation
    if typing.get_origin(annotation) is typing.Literal:
        return "|".join(map(str, typing.get_args(annotation)))
    if one.name in TUNABLE:
        return "X[,X…]" if compares else "X"
    if one.name == "max_length" and compares:
        return "N[,N…]"
    return {"int": "N", "float": "X"}.get(one.type, "TEXT")


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


def _help_all_option() -> click.Option:
    """``--help-all``, which prints every option."""

    def show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            context.meta[_ALL] = True
            click.echo(context.get_help(), color=context.color)
            context.exit()

    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show all options and settings, and exit.",
    )


def _is_usual(option: click.Option) -> bool:
    # The last line of the help text stands for --help and --help-all.
    return getattr(option, "usual", not {"--help", "--help-all"} & set(option.opts))


def _section(param: click.Parameter) -> str:
    """The heading of a parameter."""
    return getattr(param, "section", WHAT if param.name == "plugins" else OTHER)


def _short(flags: str, text: str, only: bool) -> tuple[str, str]:
    """Flags and the first clause of a help text with the default in brackets.

    The default is in the brackets at its end, or else in the words after "by default"; for 0 there
    is what 0 stands for. only: whether to say which tasks alone have the option.
    """
    body, _, notes = text.rstrip("]").partition("  [")
    kept = [note for note in notes.split("; ") if note and (only or not note.endswith(" only"))]
    default = "; ".join(kept).replace("default: ", "")
    if not default and (said := re.search(r"[;.] by default (.+?)(?:[;,.](?: |$)|$)", body, re.I)):
        default = said[1]
    if default in ("0", "0.0") and (zero := re.search(r"\b0: ([^;,.]+)", body)):
        default = zero[1]
    flags = flags.partition(" / ")[0] if default == "no" else flags
    clause = re.split(r"[.;:](?: |$)", body)[0]
    return flags, f"{clause}  [{default}]" if default else clause


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
    help="What runs the work, an executor of 'zoo list executor' with its parameters.",
)
TRACK = option(
    OUTPUT,
    "--track",
    metavar="NAME[,NAME…]",
    usual=False,
    help="Trackers that show every training once it has ended; 'zoo list tracker' names them.",
)
