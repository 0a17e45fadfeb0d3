"""The ``zoo`` command: parses and calls, no work of its own.

Nothing heavy is imported here: a command's module is loaded when that command is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from zoo import __version__
from zoo.cli.failures import run
from zoo.errors import nearest
from zoo.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from zoo.registry.component import Command

__all__ = ["cli", "main"]


@hookimpl
def zoo_commands(app: Callable[..., None]) -> None:
    """Add the zoo's own commands, in the order in which ``zoo --help`` shows them."""
    app("bench", "zoo.cli.bench:bench", summary="Train and measure every combination asked for.")
    app("report", "zoo.cli.report:report", summary="Tables and effects, from the records of a run.")
    app("compare", "zoo.cli.compare:compare", summary="Print what changed between two runs.")
    app("scale", "zoo.cli.scale:scale", summary="Measure how cost grows with length, width, depth.")
    app("train", "zoo.cli.train:train", summary="Train one model and save it.")
    app("predict", "zoo.cli.predict:predict", summary="Print what a model predicts for texts.")
    app("evaluate", "zoo.cli.evaluate:evaluate", summary="Score a saved model on labelled texts.")
    app("attend", "zoo.cli.attend:attend", summary="Show the attention weights of a text.")
    app("generate", "zoo.cli.generate:generate", summary="Generate text with a saved model.")
    app("list", "zoo.cli.listing:list_components", summary="List what can be combined.")
    app("info", "zoo.cli.listing:info", summary="Describe one component.")
    app("plugins", "zoo.cli.listing:plugins", summary="List the plug-ins and how each was loaded.")
    app("check", "zoo.cli.check:check", summary="Check components against their contract.")
    app("new", "zoo.cli.new:new", summary="Write a plug-in of your own, ready to install.")


class RegisteredCommands(click.Group):
    """The commands that plug-ins register; only the one that is run is imported.

    The other plug-ins are loaded where the command is none of the zoo's own, or all are listed.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        from zoo.registry.loading import load

        return list(load().commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from zoo.registry.loading import load

        with formatter.section("Commands"):
            formatter.write_dl([(c.name, c.summary) for c in load().commands.values()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command's name and summary, for the completion of shells."""
        found = self._find(cmd_name)
        return click.Command(cmd_name, short_help=found.summary) if found else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, *rest = args
        found = self._find(name)
        if found is None:
            raise click.UsageError(self._unknown(name), ctx)
        command = found.resolve()
        if not isinstance(command, click.Command):
            raise click.UsageError(f"command '{name}' of {found.owner} is no click command", ctx)
        return name, command, rest

    def _find(self, name: str) -> Command | None:
        from zoo.registry.loading import built_in_commands, load

        return built_in_commands().get(name) or load().commands.get(name)

    def _unknown(self, name: str) -> str:
        """Why there is no such command: which package has it, or which are like it."""
        from zoo.registry.kinds import to_install
        from zoo.registry.loading import load

        loaded = load()
        for warning in loaded.warnings:
            click.echo(f"warning: {warning}", err=True)
        if install := to_install("command", name):
            return f"zoo {name} is in a package of its own: {install}"
        return f"no command '{name}'{nearest(name, loaded.commands)}"


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
