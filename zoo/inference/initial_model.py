"""Reads the saved models that encoders begin with, for requests with ``--init DIR``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zoo.config.pretraining import InitialModel
from zoo.config.request import Request
from zoo.errors import ZooError
from zoo.inference.directory import TOKENIZER, WEIGHTS, read
from zoo.registry import AXES, Registry


def with_initial_models(requests: Sequence[Request], registry: Registry) -> list[Request]:
    """The requests, each with the saved model that it names; ZooError where there is none."""
    return [
        request.model_copy(
            update={"initial": read_initial(Path(request.pretraining.init).expanduser(), registry)}
        )
        if request.pretraining.from_model
        else request
        for request in requests
    ]


def read_initial(directory: Path, registry: Registry) -> InitialModel:
    """The model in a directory; ZooError where it is damaged, or no masked language model."""
    try:
        card = read(directory)
        task = card.find_task(registry)
        if not task.gives_encoder:
            raise ZooError(
                f"it holds {task.model_name}, and no encoder for others to begin with: "
                "'zoo train --task mlm --save DIR' makes one"
            )
        cell = card.find_cell(registry)
    except ZooError as error:
        raise ZooError(f"--init {directory}: {error}") from error
    layers = range(card.sizes.layers)
    return InitialModel(
        name=f"{directory.resolve().name} ({card.files[WEIGHTS][:12]})",
        directory=directory,
        weights=directory / WEIGHTS,
        tokenizer=directory / TOKENIZER,
        sizes=card.sizes,
        cell={
            axis: tuple(str(getattr(cell, axis).at(layer)) for layer in layers)
            for axis in AXES
            if axis not in task.unused
        },
    )
