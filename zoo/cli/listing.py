"""``zoo list``, ``zoo info`` and ``zoo plugins``: what is installed. None of them imports torch."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from zoo.cli.options import json_option, load_zoo, plugin_option
from zoo.cli.table import print_table
from zoo.errors import ZooError
from zoo.registry import BUILT_IN, CAPABILITIES, KINDS, Component, Registry


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
    listed = [(k, registry.components(k)) for k in kinds]
    if as_json:
        _print_json([_described(registry, c) for _, components in listed for c in components])
        return
    rows: list[tuple[str, ...]] = []
    for one, components in listed:
        if rows and components:
            rows.append(())
        rows += [
            (
                f"{one}/{registry.label(c)}",
                c.summary,
                "" if c.owner.distribution == BUILT_IN else str(c.owner),
            )
            for c in components
        ]
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
    found = _find(registry, component)
    described = _described(registry, found)
    if as_json:
        _print_json(described)
        return
    click.secho(f"{found.kind}/{registry.label(found)}", bold=True)
    click.echo(found.summary)
    fields = [("source", found.source or "-"), ("owner", str(found.owner))]
    fields += [("file", described["file"] or "-"), ("factory", described["factory"])]
    fields += [("parameters", "none" if not found.parameters else "")]
    click.echo()
    for name, value in fields:
        click.echo(f"{name + ':':<13}{value}".rstrip())
    for name, default in found.parameters.items():
        click.echo(f"  {name}={default!r}")
    click.echo(f"{'capabilities:':<13}{'' if found.capabilities else 'none'}".rstrip())
    width = max(map(len, found.capabilities), default=0)
    for name, meaning in described["capabilities"].items():
        click.echo(f"  {name:<{width}}  {meaning}")


@click.command()
@plugin_option
@json_option
def plugins(plugins: tuple[str, ...], as_json: bool) -> None:
    """List the plug-ins: their distribution, version and status.

    \b
    ok       all its components can be used
    clash    they can, but some only as distribution:name
    partial  some of its components cannot be used
    failed   none of its components can be used
    blocked  ZOO_PLUGINS excludes it

    \b
    ZOO_PLUGINS=       excludes all but the built-ins
    ZOO_PLUGINS=-NAME  excludes one plug-in or distribution
    ZOO_PLUGINS=NAME   excludes all others
    """
    import zoo.registry.loading

    loaded = zoo.registry.loading.load(plugins)
    for note in loaded.notes:
        click.echo(f"warning: {note}", err=True)
    if as_json:
        _print_json([asdict(row) for row in loaded.plugins])
        return
    print_table(
        [
            (row.name, row.distribution, row.version, row.status, row.error)
            for row in loaded.plugins
        ],
        ("NAME", "DISTRIBUTION", "VERSION", "STATUS", "ERROR"),
    )


def _find(registry: Registry, text: str) -> Component:
    """The component of ``kind/name``, or of a bare name that only one kind has."""
    kind, slash, name = text.partition("/")
    if slash:
        return registry.choose(kind, name).component
    homes = [k for k in KINDS if any(text in (c.name, c.full_name) for c in registry.components(k))]
    if len(homes) == 1:
        return registry.get(homes[0], text)
    if homes:
        raise ZooError(f"'{text}' is several: {', '.join(f'{kind}/{text}' for kind in homes)}")
    raise ZooError(f"'{text}' is no KIND/NAME, such as pe/rope; 'zoo list' shows them all")


def _described(registry: Registry, component: Component) -> dict[str, Any]:
    """A component as plain values, for JSON."""
    meanings = CAPABILITIES[component.kind]
    factory = component.factory
    return {
        "kind": component.kind,
        "name": registry.label(component),
        "summary": component.summary,
        "source": component.source,
        "parameters": dict(component.parameters),
        "capabilities": {n: meanings[n] for n in meanings if n in component.capabilities},
        "owner": {
            "distribution": component.owner.distribution,
            "version": component.owner.version,
        },
        "factory": factory
        if isinstance(factory, str)
        else f"{factory.__module__}:{getattr(factory, '__qualname__', type(factory).__qualname__)}",
        "file": component.file(),
    }


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=repr))
