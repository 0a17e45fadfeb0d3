"""What the commands that take a kept model share. No torch until a model is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import DEVICE, plugin_option
from zoo.errors import ZooError
from zoo.tasks.score import CLASSIFY

if TYPE_CHECKING:
    from zoo.inference.load import Kept
    from zoo.models.text_classifier import TextClassifier
    from zoo.models.text_writer import TextWriter
    from zoo.registry import Registry


def model_options(command: Callable[..., Any]) -> Any:
    """Add DIR, ``--device``, ``--allow-changed`` and ``--plugin``; see ``_open``."""
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


def open_classifier(
    directory: str, device: str | None, allow_changed: bool, registry: Registry
) -> TextClassifier:
    """The classifier of a directory; see ``_open``. ZooError where its model is none."""
    model = _open(directory, device, allow_changed, registry, writes=False)
    from zoo.models.text_classifier import TextClassifier

    assert isinstance(model, TextClassifier)
    return model


def open_writer(
    directory: str, device: str | None, allow_changed: bool, registry: Registry
) -> TextWriter:
    """The language model or encoder-decoder of a directory; ZooError where it is none."""
    model = _open(directory, device, allow_changed, registry, writes=True)
    from zoo.models.text_writer import TextWriter

    assert isinstance(model, TextWriter)
    return model


def _open(
    directory: str, device: str | None, allow_changed: bool, registry: Registry, *, writes: bool
) -> Kept:
    """The model of a directory, on the device asked for (auto by default)."""
    from pathlib import Path

    from zoo.api import make_request
    from zoo.inference.directory import read
    from zoo.tasks.catalog import find_task

    card = read(Path(directory))  # refused before torch is imported, which takes seconds
    if (card.task != CLASSIFY) != writes:
        able = "predict, evaluate and attend take" if writes else "generate takes"
        raise ZooError(f"{directory} holds {find_task(card.task).model}, which zoo {able}")
    request = make_request({"device": device or "auto"})

    from zoo.inference.load import load_from
    from zoo.train.device import resolve

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
