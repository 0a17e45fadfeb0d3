"""``zoo export`` for encoder-zoo: a saved model as a file for other runtimes."""

from __future__ import annotations

from collections.abc import Callable

from zoo.registry.hookspecs import hookimpl

requires_zoo = ">=0.2"


@hookimpl
def zoo_commands(app: Callable[..., None]) -> None:
    """Add the command."""
    app(
        "export",
        "zoo_export.command:export",
        summary="Write a saved model for ONNX or torch.export.",
    )
