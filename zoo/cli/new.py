"""``zoo new``: write a plug-in, ready to install."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from zoo.errors import ZooError
from zoo.registry import KINDS
from zoo.registry.scaffold import WRITTEN_KINDS, NewPlugin, write_plugin

HELP = f"""Write a plug-in with one component of KIND, called NAME.

KIND is one of {", ".join(WRITTEN_KINDS)}. The plug-in is the folder zoo-NAME: a working component,
its tests, a README and a pyproject.toml.

\b
zoo new attention my-window
zoo new data my-texts --into ~/plugins
"""


@click.command(help=HELP)
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
    """Write the files, and print the commands that come next."""
    plugin = NewPlugin(kind, name)
    _refuse_taken(plugin)
    folder = write_plugin(plugin, into)
    # With "./", so that pip does not read it as a name on PyPI.
    path = str(folder) if folder.is_absolute() else f"./{folder}"
    click.echo(f"{path} is written; now")
    click.echo(f"  pip install -e {shlex.quote(path)}")
    click.echo(f"  zoo check {kind}/{name}")
    if plugin.bench:
        click.echo(f"  {plugin.bench}")


def _refuse_taken(plugin: NewPlugin) -> None:
    """ZooError where another component has the name, or other components the distribution."""
    from zoo.registry.loading import load
    from zoo.registry.plugins import normal

    registry = load().registry
    every = [component for kind in KINDS for component in registry.components(kind)]
    own = [c for c in every if normal(c.owner.distribution) == plugin.distribution]
    named = [c for c in registry.components(plugin.kind) if c.name == plugin.name]
    for component in named:
        if component not in own:
            what = f"{plugin.kind} '{plugin.name}'"
            raise ZooError(f"{what} is taken by {component.owner}; choose another name")
    if own and not named:
        raise ZooError(
            f"{plugin.distribution} is installed already, with {own[0].kind} '{own[0].name}'; "
            "choose another name"
        )
