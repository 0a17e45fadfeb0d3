"""The weights that encoders begin with, put among the data, so that every machine has them."""

from __future__ import annotations

import dataclasses

from zoo.config.request import Request
from zoo.config.settings import SAVED_MODEL, Pretraining
from zoo.tasks.base import Loaded


def with_pretraining(request: Request, loaded: Loaded) -> tuple[Loaded, Pretraining]:
    """The data with the weights of ``--init MODEL``, and what records and jobs say of it.

    That has the model's name and hash in place of its path.
    """
    initial = request.initial
    if initial is None:
        return loaded, request.pretraining
    encoded = loaded.encoded.with_file(SAVED_MODEL, initial.weights.read_bytes())
    named = request.pretraining.model_copy(update={"init": initial.name})
    return dataclasses.replace(loaded, encoded=encoded, spec=""), named
