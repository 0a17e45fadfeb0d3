"""The ``zoo`` command: its commands, and errors as one line on stderr with an exit status.

Nothing heavy is imported here: a command's module is loaded when that command is asked for.
"""

from __future__ import annotations

import functools
import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from zoo import __version__
from zoo.errors import StoppedError, ZooError, close_match, nearest, one_line
from zoo.files import full_disk
from zoo.registry.declarations import hookimpl

if TYPE_CHECKING:
    from zoo.registry import Component, Register

__all__ = ["cli", "main", "run"]

FAILED, USAGE, INTERNAL, INTERRUPTED, CLOSED_PIPE = 1, 2, 70, 130, 141


@hookimpl
def zoo_register(register: Register) -> None:
    """Add the zoo's own commands, in the order in which ``zoo --help`` shows them."""
    app = functools.partial(register, "command")
    app("bench", "zoo.cli.bench:bench", summary="Train and measure every combination asked for.")
    app("report", "zoo.cli.report:report", summary="Tables and effects, from the records of a run.")
    app("compare", "zoo.cli.report:compare", summary="Print what changed between two runs.")
    app("stale", "zoo.cli.report:stale", summary="List records whose code has changed since.")
    app("claim", "zoo.cli.claim:claim", summary="Run a published claim, and judge it.")
    app("claims", "zoo.cli.claim:claims", summary="List published claims with their verdicts.")
    app("train", "zoo.cli.bench:train", summary="Train one model and save it.")
    app("predict", "zoo.cli.predict:predict", summary="Print what a model predicts for texts.")
    app("evaluate", "zoo.cli.evaluate:evaluate", summary="Score a saved model on labelled texts.")
    app("attend", "zoo.cli.evaluate:attend", summary="Show the attention weights of a text.")
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
        """A command's name and summary, for the help text."""
        entry = _registered(cmd_name)
        return click.Command(cmd_name, short_help=entry.summary) if entry else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from zoo.cli.options import load_zoo
        from zoo.registry.catalog import OTHERS

        name, *rest = args
        if (entry := _registered(name)) is None:
            hint = nearest(name, load_zoo().registry.commands)
            raise click.UsageError(f"no command '{name}'{hint}. {OTHERS}", ctx)
        command = entry.resolve()
        if not isinstance(command, click.Command):
            raise click.UsageError(f"command '{name}' of {entry.owner} is no click command", ctx)
        return name, command, rest


def _registered(name: str) -> Component | None:
    from zoo.registry.loading import built_ins, load

    return built_ins().commands.get(name) or load().registry.commands.get(name)


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
    words = [word for word in arguments if not word.startswith("-")]
    name = " ".join(["zoo", *words[:1]])
    # The group has no option with a value: all words before the command are its flags.
    debug = "--debug" in (arguments[: arguments.index(words[0])] if words else arguments)
    for file in (sys.stdout, sys.stderr):  # "?" for what the terminal's encoding lacks
        if isinstance(file, io.TextIOWrapper):
            file.reconfigure(errors="replace")
    status = USAGE
    try:
        try:
            os.fsencode("\n".join(arguments)).decode()  # whatever the locale made of them
        except UnicodeError:
            raise ZooError("an argument is not UTF-8; if it is a file, rename it") from None
        with command.make_context("zoo", arguments) as opened:
            result = command.invoke(opened)
        sys.stdout.flush()  # so that a closed pipe raises here and not at shutdown
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)  # of the command that rejected its arguments
        name = context.command_path if context else name
        problems, trace = [_worded(error, arguments)], traceback.format_exc()
    except ZooError as error:
        status = FAILED if isinstance(error, StoppedError) else USAGE
        problems, trace = getattr(error, "problems", [str(error)]), traceback.format_exc()
    except (KeyboardInterrupt, click.Abort) as error:
        click.echo(f"{name}: interrupted{f': {error}' if str(error) else ''}", err=True)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - an unexpected error is a bug
        if isinstance(error, BrokenPipeError):  # the reader of stdout has closed it
            _discard_stdout()
            return CLOSED_PIPE
        trace = traceback.format_exc()
        if full := full_disk(error):
            _discard_stdout()  # which may be what is full
            status, problems = FAILED, [str(full)]
        elif isinstance(error, OSError) and error.filename:
            problems = [f"{error.filename}: {error.strerror}"]
        else:
            click.echo(f"{trace}{name}: internal error: {one_line(error)}", err=True)
            return INTERNAL
    if debug:
        click.echo(trace, err=True, nl=False)
    first, *others = (" ".join(problem.split()) for problem in problems)
    click.echo("\n  also: ".join([f"{name}: error: {first}", *others]), err=True)
    return status


def _worded(error: click.ClickException, arguments: Sequence[str]) -> str:
    """A click error's message; of wrong options all, and which are meant."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error.format_message()
    params = error.ctx.command.get_params(error.ctx)
    flags = [flag for p in params for flag in (*p.opts, *p.secondary_opts) if flag[:2] == "--"]
    settings = [name for p in params for name in getattr(p, "settings", ())]
    known = {flag[2:].replace("-", "_"): flag for flag in flags}
    known |= {name: f"--set {name}=…" for name in settings}
    words = [word.partition("=")[0] for word in arguments if word.startswith("--")]
    wrong = []
    for word in dict.fromkeys([error.option_name, *words]):
        name = word.lstrip("-").replace("-", "_")
        name = positive if (positive := name.removeprefix("no_")) in known else name
        close = close_match(name, known)
        if name in settings:
            wrong.append(f"no option '{word}'; it is {known[name]}")
        elif word not in (*flags, "--", "--debug"):
            hint = f"did you mean {known[close]}?" if close else "--help lists them"
            wrong.append(f"no option '{word}'; {hint}")
    return "; ".join(wrong)


def _discard_stdout() -> None:
    """What is left to write goes nowhere, so that shutdown can flush it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
