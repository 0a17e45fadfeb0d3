"""``zoo list``, ``info`` and ``plugins``: what is installed; ``zoo new``: a plug-in of your own.

None of them imports torch.
"""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import json_option, load_zoo, plugin_option, print_json, print_table
from zoo.errors import ZooError
from zoo.registry import BUILT_IN, CAPABILITIES, KINDS, Component, Registry
from zoo.registry.component import file_of
from zoo.registry.scaffold import STARTERS, first_run, write_plugin

# For JSON: the parameters of a plug-in may be of any type.
LENIENT: dict[str, Any] = {"default": repr, "allow_nan": True}


@click.command("list")
@click.argument("kind", required=False)
@plugin_option
@json_option
def list_components(kind: str | None, plugins: tuple[str, ...], as_json: bool) -> None:
    """List the components of KIND, or of every kind.

    \b
    zoo list
    zoo list attention
    zoo list --plugin my_window.py --json
    """
    registry = load_zoo(plugins).registry
    kinds = [kind] if kind is not None else KINDS
    listed = [component for kind in kinds for component in registry.components(kind)]
    if as_json:
        print_json([_described(registry, c) for c in listed], **LENIENT)
        return
    rows = []
    for component in listed:
        owner = "" if component.owner.distribution == BUILT_IN else str(component.owner)
        rows.append((f"{component.kind}/{registry.label(component)}", component.summary, owner))
    print_table(rows, ("NAME", "SUMMARY", "OWNER"), cut=1)


@click.command()
@click.argument("component", metavar="KIND/NAME")
@plugin_option
@json_option
def info(component: str, plugins: tuple[str, ...], as_json: bool) -> None:
    """Show everything about one component.

    \b
    zoo info pe/rope
    zoo info attention/fused --json
    """
    registry = load_zoo(plugins).registry
    kind, slash, name = component.partition("/")
    if not slash:
        raise ZooError(f"'{component}' is no KIND/NAME, such as pe/rope; 'zoo list' shows them all")
    chosen = registry.choose(kind, name).component
    described = _described(registry, chosen)
    if as_json:
        print_json(described, **LENIENT)
        return
    rows = [(name, str(described[name] or "-")) for name in ("source", "file")]
    rows += [("owner", str(chosen.owner))]
    for name, default in described["parameters"].items():
        rows.append(("parameter", f"{name}={default!r}"))
    rows += [("recipe", f"{name}={value!r}") for name, value in described["recipe"].items()]
    for name, meaning in described["capabilities"].items():
        rows.append(("capability", f"{name}: {meaning}"))
    print_table(rows, (f"{chosen.kind}/{described['name']}", chosen.summary))


@click.command()
@plugin_option
@json_option
def plugins(plugins: tuple[str, ...], as_json: bool) -> None:
    """List the plug-ins: their distribution, version and status.

    \b
    ok      its parts and commands can be used
    failed  it is left out, for the reason given
    off     ZOO_PLUGINS does not name it

    ZOO_PLUGINS=NAME,NAME turns on only these plug-ins or distributions, and ZOO_PLUGINS= none.
    """
    from zoo.registry.loading import load

    rows = [asdict(row) for row in load(plugins).plugins]
    if as_json:
        print_json(rows)
    else:
        print_table([[*row.values()] for row in rows], [name.upper() for name in rows[0]])


def _described(registry: Registry, component: Component) -> dict[str, Any]:
    """A component as plain values, for JSON."""
    meanings, owner = CAPABILITIES[component.kind], component.owner
    recipe = dict(component.recipe)
    if "streamed" in component.capabilities:
        from zoo.config.settings import STREAMED  # takes a while

        recipe = {**STREAMED, **recipe}
    return {
        "kind": component.kind,
        "name": registry.label(component),
        "summary": component.summary,
        "source": component.source,
        "parameters": {**component.parameters, **component.harness_parameters},
        "recipe": recipe,
        "capabilities": {n: meanings[n] for n in meanings if n in component.capabilities},
        "owner": {"distribution": owner.distribution, "version": owner.version},
        "file": str(file) if (file := file_of(component.module)) else None,
    }


NEW = f"""Write a plug-in with one component of KIND, called NAME.

KIND is one of {", ".join(STARTERS)}. The plug-in is the folder zoo-NAME: a working component,
its tests, a README and a pyproject.toml.

\b
zoo new attention my-window
zoo new data my-texts --into ~/plugins
"""


@click.command(help=NEW)
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
    folder = write_plugin(kind, name, into)
    # With "./", so that pip does not read it as a name on PyPI.
    path = str(folder) if folder.is_absolute() else f"./{folder}"
    click.echo(f"{path} is written; now")
    click.echo(f"  pip install -e {shlex.quote(path)}")
    click.echo(f"  zoo check {kind}/{name}")
    if bench := first_run(kind, name):
        click.echo(f"  {bench}")
