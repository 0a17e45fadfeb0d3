"""What the commands that take a kept model share. No torch until a model is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import DEVICE, plugin_option

if TYPE_CHECKING:
    from zoo.keep.classifier import TextClassifier
    from zoo.registry import Registry


def model_options(command: Callable[..., Any]) -> Any:
    """Add DIR, ``--device``, ``--allow-changed`` and ``--plugin``; see ``open_model``."""
    for option in (
        plugin_option,
        click.option(
            "--allow-changed",
            is_flag=True,
            help="Load it though components are not what they were when it was trained.",
        ),
        DEVICE,
        click.argument("directory", metavar="DIR"),
    ):
        command = option(command)
    return command


def open_model(
    directory: str, device: str | None, allow_changed: bool, registry: Registry
) -> TextClassifier:
    """The model of a directory, on the device asked for (auto by default)."""
    from pathlib import Path

    from zoo.harness.api import make_request
    from zoo.keep.directory import read

    read(Path(directory))  # refused before torch is imported, which takes seconds
    request = make_request({"device": device or "auto"})

    from zoo.harness.device import resolve
    from zoo.keep.load import load_from

    place = resolve(request.execution).device
    return load_from(Path(directory), registry, device=place, allow_changed=allow_changed)


def tell_limits(cut: int, unknown: int, texts: int, max_length: int) -> None:
    """Say on stderr what the model could not read of the texts."""
    of = f"{{}} of {texts} texts" if texts > 1 else "the text"
    if cut:
        verb = "is" if texts == 1 or cut == 1 else "are"
        click.echo(
            f"note: {of.format(cut)} {verb} longer than the model's {max_length} tokens; "
            "what is beyond was not read",
            err=True,
        )
    if unknown:
        verb = "has" if texts == 1 or unknown == 1 else "have"
        click.echo(f"note: {of.format(unknown)} {verb} words the model does not know", err=True)
