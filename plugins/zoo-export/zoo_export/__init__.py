"""``zoo export`` for encoder-zoo: a saved model as a file for other runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.registry.declarations import hookimpl

if TYPE_CHECKING:
    from zoo.registry import Register

requires_zoo = ">=0.2"


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the command."""
    summary = "Write a saved model for ONNX or torch.export."
    register("command", "export", "zoo_export.command:export", summary=summary)
