"""What the commands that take a saved model share. No torch until a model is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import DEVICE, plugin_option
from zoo.errors import ZooError, nearest

if TYPE_CHECKING:
    from zoo.registry import Registry


def model_options(command: Callable[..., Any]) -> Any:
    """Add DIR, ``--device``, ``--allow-changed`` and ``--plugin``; see ``open_model``."""
    for option in (
        plugin_option,
        click.option(
            "--allow-changed",
            is_flag=True,
            help="Load the model although components have changed since it was trained.",
        ),
        DEVICE,
        click.argument("directory", metavar="DIR"),
    ):
        command = option(command)
    return command


def open_model(
    directory: str, device: str | None, allow_changed: bool, registry: Registry, command: str
) -> Any:
    """The saved model of a directory, on the device asked for (auto by default).

    command: the command that uses it. Raises ZooError where the model's task does not offer it.
    """
    from pathlib import Path

    from zoo.config.settings import Execution
    from zoo.inference.directory import read

    card = read(Path(directory))  # refused before torch is imported, which takes seconds
    task = card.find_task(registry)
    if command not in task.commands:
        offered = " and ".join(f"zoo {name}" for name in task.commands)
        raise ZooError(
            f"{directory} holds {task.model_name}, which zoo {command} does not take; "
            f"it is for {offered}"
        )
    devices = ("auto", "cpu", "cuda", "mps")
    if device is not None and device not in devices:
        raise ZooError(f"--device {device}{nearest(device, devices)}")

    from zoo.inference.load import load_from
    from zoo.train.device import resolve

    execution = Execution.model_validate({"device": device or "auto"})
    return load_from(
        Path(directory), registry, device=resolve(execution).device, allow_changed=allow_changed
    )


def report_limits(cut: int, unknown: int, texts: int, max_length: int) -> None:
    """Say on stderr which texts were cut or have unknown words."""
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
