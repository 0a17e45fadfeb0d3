"""What the commands that take a saved model share. No torch until a model is loaded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import load_zoo, plugin_option
from zoo.errors import ZooError
from zoo.registry import Registry


@dataclass(frozen=True)
class SavedModel:
    """A model's directory and how to load it, as a command line gives them."""

    directory: str
    device: str
    allow_changed: bool
    registry: Registry

    def open(self, command: str) -> Any:
        """The loaded model.

        command: the command that uses it. Raises ZooError where the model's task does not offer it.
        """
        from zoo.config.settings import Execution
        from zoo.inference.directory import read

        directory = Path(self.directory)
        card = read(directory)  # before torch is imported, which takes seconds
        try:
            task = card.find_task(self.registry, allow_changed=self.allow_changed)
        except ZooError as error:
            raise ZooError(f"{directory}: {error}") from error
        if command not in task.commands:
            offered = " and ".join(f"zoo {name}" for name in task.commands)
            raise ZooError(
                f"{directory} holds {task.model_name}, which zoo {command} does not take; "
                f"it is for {offered}"
            )

        from zoo.inference.load import load_from
        from zoo.train.device import resolve

        runtime = resolve(Execution.model_validate({"device": self.device}))
        return load_from(
            directory, self.registry, device=runtime.device, allow_changed=self.allow_changed
        )


def model_options(command: Callable[..., Any]) -> Any:
    """Add DIR, ``--device``, ``--allow-changed`` and ``--plugin``.

    The command gets ``saved: SavedModel``.
    """

    @functools.wraps(command)
    def with_model(
        directory: str, device: str, allow_changed: bool, plugins: tuple[str, ...], **rest: Any
    ) -> Any:
        registry = load_zoo(plugins).registry
        return command(saved=SavedModel(directory, device, allow_changed, registry), **rest)

    decorated: Any = with_model
    for decorate in (
        plugin_option,
        click.option(
            "--allow-changed",
            is_flag=True,
            help="Load the model although components have changed since it was trained.",
        ),
        click.option(
            "--device",
            type=click.Choice(["auto", "cpu", "cuda", "mps"]),
            default="auto",
            show_default=True,
            help="Where to compute.",
        ),
        click.argument("directory", metavar="DIR"),
    ):
        decorated = decorate(decorated)
    return decorated


def report_limits(cut: int, unknown: int, texts: int, max_length: int) -> None:
    """Say on stderr how many texts were cut or have unknown words."""
    of = f"{{}} of {texts} texts" if texts > 1 else "the text"
    if cut:
        verb = "is" if texts == 1 or cut == 1 else "are"
        click.echo(
            f"note: {of.format(cut)} {verb} longer than the model's {max_length} tokens; "
            "the rest was not read",
            err=True,
        )
    if unknown:
        verb = "has" if texts == 1 or unknown == 1 else "have"
        click.echo(f"note: {of.format(unknown)} {verb} words the model does not know", err=True)
