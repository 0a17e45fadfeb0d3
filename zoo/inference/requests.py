"""Requests from flat options, with the saved encoders that they begin with. No torch here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.config.request import Request, load_suite
from zoo.config.settings import InitialModel
from zoo.errors import ZooError
from zoo.inference.saved_model import TOKENIZER, WEIGHTS, read
from zoo.registry import AXES, Registry
from zoo.sweep.make_request import make_requests


def build_requests(
    options: Mapping[str, Any], registry: Registry, ignored: Collection[str] = ()
) -> list[Request]:
    """The requests of a suite's options and, over them, those given, one a data set.

    ignored: options that a suite may hold and that this command has no use for. Raises ZooError.
    """
    given = {name: value for name, value in options.items() if not is_absent(value)}
    suite = load_suite(given.pop("suite")) if "suite" in given else {}
    suite = {name: value for name, value in suite.items() if name not in ignored}
    given["plugins"] = (*suite.get("plugins", ()), *given.get("plugins", ()))
    return with_saved_encoders(make_requests(given, registry, suite), registry)


def is_absent(value: Any) -> bool:
    """Whether an option is not given; a given one may be an array, which has no truth."""
    return value is None or (isinstance(value, tuple) and not value)


def with_saved_encoders(requests: Sequence[Request], registry: Registry) -> list[Request]:
    """The requests, each with the saved encoder of its ``--init``; ZooError where there is none."""
    return [
        request.model_copy(
            update={"initial": _read_encoder(Path(request.pretraining.init).expanduser(), registry)}
        )
        if request.pretraining.from_model
        else request
        for request in requests
    ]


def _read_encoder(directory: Path, registry: Registry) -> InitialModel:
    """The model in a directory; ZooError where it is damaged, or no masked language model."""
    try:
        card = read(directory)
        task, cell = card.find_task(registry), card.find_cell(registry)
        if not task.gives_encoder:
            raise ZooError(
                f"it holds {task.model_name}, and no encoder for others to begin with: "
                "'zoo train --task mlm --save DIR' makes one"
            )
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
            axis: tuple(str(cell.at(axis, layer)) for layer in layers)
            for axis in AXES
            if axis not in task.unused
        },
    )
