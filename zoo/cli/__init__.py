"""The ``zoo`` command: its commands, and errors as one line on stderr with an exit status.

Nothing heavy is imported here: a command's module is loaded when that command is asked for.
"""

from __future__ import annotations

import codecs
import io
import itertools
import os
import select
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from zoo import __version__
from zoo.errors import DataError, StoppedError, ZooError, close_match, nearest, one_line
from zoo.files import full_disk
from zoo.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from zoo.registry import Component

__all__ = ["cli", "main", "run"]

FAILED, USAGE, INTERNAL, INTERRUPTED, CLOSED_PIPE = 1, 2, 70, 130, 141


@hookimpl
def zoo_commands(app: Callable[..., None]) -> None:
    """Add the zoo's own commands, in the order in which ``zoo --help`` shows them."""
    app("bench", "zoo.cli.bench:bench", summary="Train and measure every combination asked for.")
    app("report", "zoo.cli.report:report", summary="Tables and effects, from the records of a run.")
    app("compare", "zoo.cli.report:compare", summary="Print what changed between two runs.")
    app("stale", "zoo.cli.report:stale", summary="List records whose code has changed since.")
    app("train", "zoo.cli.train:train", summary="Train one model and save it.")
    app("predict", "zoo.cli.predict:predict", summary="Print what a model predicts for texts.")
    app("evaluate", "zoo.cli.evaluate:evaluate", summary="Score a saved model on labelled texts.")
    app("attend", "zoo.cli.attend:attend", summary="Show the attention weights of a text.")
    app("generate", "zoo.cli.predict:generate", summary="Generate text with a saved model.")
    app("list", "zoo.cli.listing:list_components", summary="List what can be combined.")
    app("info", "zoo.cli.listing:info", summary="Describe one component.")
    app("plugins", "zoo.cli.listing:plugins", summary="List the plug-ins and how each was loaded.")
    app("check", "zoo.cli.check:check", summary="Check components against their contract.")
    app("new", "zoo.cli.listing:new", summary="Write a plug-in of your own, ready to install.")


class RegisteredCommands(click.Group):
    """The commands that plug-ins register; only the one that is run is imported.

    The other plug-ins are loaded where the command is none of the zoo's own, or all are listed.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        from zoo.registry.loading import load

        return list(load().registry.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command's name and summary, for the help text and the completion of shells."""
        entry = _registered(cmd_name)
        return click.Command(cmd_name, short_help=entry.summary) if entry else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, *rest = args
        entry = _registered(name)
        if entry is None:
            raise click.UsageError(_unknown_command(name), ctx)
        command = entry.resolve()
        if not isinstance(command, click.Command):
            raise click.UsageError(f"command '{name}' of {entry.owner} is no click command", ctx)
        return name, command, rest


def _registered(name: str) -> Component | None:
    from zoo.registry.loading import built_ins, load

    return built_ins().commands.get(name) or load().registry.commands.get(name)


def _unknown_command(name: str) -> str:
    """Why there is no such command, and which there are."""
    from zoo.registry.catalog import OTHERS
    from zoo.registry.loading import load

    loaded = load()
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    return f"no command '{name}'{nearest(name, loaded.registry.commands)}. {OTHERS}"


@click.group(
    cls=RegisteredCommands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="'zoo COMMAND --help' lists the options of a command.",
)
@click.version_option(__version__, prog_name="zoo", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Compare transformer parts by accuracy, speed and memory."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (default: the process's own) and return its exit status.

    0: success; 1: some of the work failed; 2: bad usage; 130: interrupted.
    """
    return run(cli, sys.argv[1:] if arguments is None else list(arguments))


def run(command: click.Command, arguments: list[str]) -> int:
    """Run a command and return its exit status; an error becomes one line on stderr.

    A command may return an exit status, or call ``context.exit(status)``.
    """
    # The group has no option with a value: all words before the command are its flags.
    debug = "--debug" in itertools.takewhile(lambda word: word.startswith("-"), arguments)
    name = " ".join(["zoo", *itertools.islice((w for w in arguments if w[:1] != "-"), 1)])
    for stream, mode in (("stdin", "r"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # closed, as services have them
            setattr(sys, stream, open(os.devnull, mode))  # noqa: SIM115
    try:
        os.fsencode("\n".join(arguments)).decode()
    except UnicodeError:
        return _fail(name, "an argument is not UTF-8; if it is a file, rename it", debug)
    for file in (sys.stdout, sys.stderr):  # "?" for what the terminal's encoding lacks
        if isinstance(file, io.TextIOWrapper) and codecs.lookup(file.encoding).name != "utf-8":
            file.reconfigure(errors="replace")
    try:
        status = _invoke(command, arguments)
        if sys.stdout is not None:
            sys.stdout.flush()  # so that a closed pipe raises here and not at shutdown
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)  # of the command that rejected its arguments
        return _fail(context.command_path if context else name, _worded(error, arguments), debug)
    except DataError as error:
        first, *others = error.problems
        status = _fail(name, first, debug)
        for problem in others:
            click.echo(f"  also: {problem}", err=True)
        return status
    except ZooError as error:
        status = FAILED if isinstance(error, StoppedError) else USAGE
        return _fail(name, str(error), debug, status)
    except (KeyboardInterrupt, click.Abort) as error:
        click.echo(f"{name}: interrupted{f': {error}' if str(error) else ''}", err=True)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - an unexpected error is a bug
        if isinstance(error, BrokenPipeError) and _stdout_is_closed():
            return CLOSED_PIPE
        if full := full_disk(error):
            _discard_stdout()  # which may be what is full
            return _fail(name, str(full), debug, FAILED)
        if isinstance(error, OSError) and error.filename:
            return _fail(name, f"{error.filename}: {error.strerror}", debug)
        traceback.print_exc()
        click.echo(f"{name}: internal error: {one_line(error)}", err=True)
        return INTERNAL
    return status if isinstance(status, int) else 0


def _invoke(command: click.Command, arguments: list[str]) -> object:
    """Run the command, or the shell completion that the environment asks for."""
    if instruction := os.environ.get("_ZOO_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(command, {}, "zoo", "_ZOO_COMPLETE", instruction)
    with command.make_context("zoo", arguments) as context:
        return command.invoke(context)


def _fail(name: str, message: str, debug: bool, status: int = USAGE) -> int:
    """Print the one line (after the traceback, if it was asked for) and return the exit status."""
    if debug:
        traceback.print_exc()
    click.echo(f"{name}: error: {' '.join(message.split())}", err=True)
    return status


def _worded(error: click.ClickException, arguments: Sequence[str]) -> str:
    """A click error's message; of wrong options all, and which are meant."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error.format_message()
    from zoo.cli.request_options import SetOption

    context, command = error.ctx, error.ctx.command
    params = command.get_params(context)
    flags = [f for p in params for f in (*p.opts, *p.secondary_opts) if f.startswith("--")]
    known = {flag[2:].replace("-", "_"): flag for flag in flags}
    for param in params:
        if isinstance(param, SetOption):
            known |= {name: f"--set {name}=…" for name in param.settings}
        if isinstance(param.type, click.Choice):  # a value of an option, as in --onnx
            for choice in param.type.choices:
                known.setdefault(choice, f"{param.opts[0]} {choice}")
    every = "--help-all" if "help_all" in known else "--help"
    wrong, words = [], list(arguments)
    if context.info_name in words:
        words = words[words.index(context.info_name) + 1 :]
    while True:
        asked = error.option_name.lstrip("-").replace("-", "_")
        name = asked if asked in known else asked.removeprefix("no_")
        meant = name if name in known else close_match(asked, known)
        hint = f"{every} lists them"
        if meant is not None:
            hint = f"it is {known[meant]}" if meant == name else f"did you mean {known[meant]}?"
        wrong.append(f"no option '{error.option_name}'; {hint}")
        words = [word for word in words if word.partition("=")[0] != error.option_name]
        try:
            command.make_parser(context).parse_args(words)
        except click.NoSuchOption as another:
            if another.option_name != error.option_name:
                error = another
                continue
        except click.UsageError:
            pass
        return "; ".join(wrong)


def _stdout_is_closed() -> bool:
    """Whether stdout's reader has closed it; if so, the rest is discarded.

    The broken pipe may also be one to a worker, which is a real error.
    """
    if not hasattr(select, "poll"):  # Windows, whose pipes to workers raise EOFError
        return True
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    closed = any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    if closed:
        _discard_stdout()
    return closed


def _discard_stdout() -> None:
    """What is left to write goes nowhere, so that shutdown can flush it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
