"""The ``zoo`` command: parses and calls, no work of its own.

Nothing heavy is imported here: a command's module is loaded when that command is asked for.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

from zoo import __version__
from zoo.cli.failures import run
from zoo.errors import nearest

__all__ = ["COMMANDS", "cli", "main"]


class Entry(NamedTuple):
    """Where a command is (``"module:attribute"``), and what it does in one line."""

    target: str
    summary: str


# In the order in which `zoo --help` shows them.
COMMANDS = {
    "bench": Entry("zoo.cli.bench:bench", "Train and measure every combination asked for."),
    "report": Entry("zoo.cli.report:report", "Tables and effects, from the records of a run."),
    "compare": Entry("zoo.cli.compare:compare", "Print what changed between two runs."),
    "scale": Entry("zoo.cli.scale:scale", "Measure how cost grows with length, width or depth."),
    "train": Entry("zoo.cli.train:train", "Train one model and save it."),
    "predict": Entry("zoo.cli.predict:predict", "Print what a saved model predicts for texts."),
    "evaluate": Entry("zoo.cli.evaluate:evaluate", "Score a saved model on labelled texts."),
    "attend": Entry("zoo.cli.attend:attend", "Show the attention weights of a text."),
    "generate": Entry("zoo.cli.generate:generate", "Generate text with a saved model."),
    "export": Entry("zoo.cli.export:export", "Write a saved model for ONNX or torch.export."),
    "list": Entry("zoo.cli.listing:list_components", "List what can be combined."),
    "info": Entry("zoo.cli.listing:info", "Describe one component."),
    "plugins": Entry("zoo.cli.listing:plugins", "List the plug-ins and whether each was loaded."),
    "check": Entry("zoo.cli.check:check", "Check components against their contract."),
    "new": Entry("zoo.cli.new:new", "Write a plug-in of your own, ready to install."),
}


class LazyGroup(click.Group):
    """Holds a name and a summary for each command; the command that is run is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            raise click.UsageError(f"no command '{args[0]}'{nearest(args[0], COMMANDS)}", ctx)
        name, _, rest = super().resolve_command(ctx, args)
        module, _, attribute = COMMANDS[str(name)].target.partition(":")
        return name, getattr(importlib.import_module(module), attribute), rest


@click.group(
    cls=LazyGroup,
    commands=[click.Command(n, short_help=entry.summary) for n, entry in COMMANDS.items()],
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
