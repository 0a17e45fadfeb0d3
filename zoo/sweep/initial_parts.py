"""Whether what encoders begin with is there, and a saved one of the cells' sizes and parts."""

from __future__ import annotations

from pathlib import Path

from zoo.config.request import Request
from zoo.errors import ZooError
from zoo.registry.cell import Cell


def refuse_sizes(request: Request) -> None:
    """ZooError, with the options that are right, where the saved model's sizes are others."""
    initial = request.initial
    assert (initial is not None) == request.pretraining.from_model, "with_initial_models is missing"
    if initial is None:
        return
    own, other = initial.sizes.model_dump(), request.sizes.model_dump()
    differ = [name for name in own if own[name] != other[name]]
    if differ:
        theirs, here = (
            " ".join(f"--{name.replace('_', '-')} {sizes[name]}" for name in differ)
            for sizes in (own, other)
        )
        raise ZooError(
            f"--init {initial.directory}: its model has {theirs}, and this run {here}: sizes must "
            "agree"
        )


def refuse_missing_texts(request: Request) -> None:
    """ZooError where the file of ``--pretrain-data`` does not exist."""
    given = request.pretraining.pretrain_data
    if given and not Path(given).expanduser().exists():
        raise ZooError(f"--pretrain-data {given}: no such file or directory")


def other_parts(request: Request, cell: Cell) -> str:
    """The first axis on which a cell's encoder has other parts than the saved one; else empty."""
    if request.initial is None:
        return ""
    for axis, saved in request.initial.cell.items():
        here = tuple(str(getattr(cell, axis).at(layer)) for layer in range(request.sizes.layers))
        if here != saved:
            one, other = ("/".join(dict.fromkeys(choices)) for choices in (saved, here))
            return f"--init {request.initial.directory.name} has {axis} {one}, not {other}"
    return ""
