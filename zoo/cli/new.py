"""``zoo new``: write a plug-in, ready to install."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from zoo.errors import ZooError


@click.command()
@click.argument("kind")
@click.argument("name")
@click.option(
    "--into",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="The folder to write the plug-in's folder into (default: this one).",
)
def new(kind: str, name: str, into: Path) -> None:
    """Write a plug-in with one component of KIND, called NAME.

    KIND is attention, pe, norm, ffn, block or pool. The plug-in is the folder zoo-NAME: a working
    component, the checks as its tests, and a pyproject.toml.

    \b
    zoo new attention my-window
    zoo new pe my-rope --into ~/plugins
    """
    from zoo.registry.loading import load
    from zoo.registry.scaffold import NewPlugin, write_plugin

    plugin = NewPlugin(kind, name)
    for component in load().registry.components(kind):
        if component.name == name and component.owner.distribution != plugin.distribution:
            raise ZooError(f"{kind} '{name}' is taken by {component.owner}; choose another name")
    folder = write_plugin(plugin, into)
    # With "./", so that pip does not read it as a name on PyPI.
    path = str(folder) if folder.is_absolute() else f"./{folder}"
    click.echo(f"{path} is written; now")
    click.echo(f"  pip install -e {shlex.quote(path)}")
    click.echo(f"  zoo check {kind}/{name}")
