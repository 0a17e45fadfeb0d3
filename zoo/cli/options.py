"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from zoo.plugins import Zoo

Command = TypeVar("Command", bound=Callable[..., Any])


def plugin_option(command: Command) -> Command:
    """Add ``--plugin FILE``; the command gets ``plugins: tuple[str, ...]`` for ``load_zoo``."""
    return click.option(
        "--plugin",
        "plugins",
        metavar="FILE",
        multiple=True,
        help="Register the components of this Python file too; may be given again.",
    )(command)


def json_option(command: Command) -> Command:
    """Add ``--json``; the command gets ``as_json: bool``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def load_zoo(plugins: Sequence[str] = ()) -> Zoo:
    """Everything that is installed, and the files; what is wrong with it goes to stderr."""
    import zoo.plugins

    loaded = zoo.plugins.load(plugins)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    return loaded
