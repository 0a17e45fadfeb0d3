"""A command in one file."""

import click

from zoo import part


@part("command", "count-parts")
@click.command()
@click.argument("kind")
def count(kind):
    """Count the parts of a kind."""
    from zoo.registry.loading import load

    click.echo(f"{len(load().registry.components(kind))} of {kind}")
