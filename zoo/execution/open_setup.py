"""What a job needs where it runs: plug-ins, task, data. No torch is imported before a model is."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.data.cache import cached_entry, entry
from zoo.data.token_arrays import EncodedData
from zoo.errors import RefusedError, ZooError
from zoo.execution.base import JobSetup
from zoo.registry import Choice, Registry
from zoo.registry.cell import Cell, ModelParts
from zoo.registry.loading import load
from zoo.tasks.base import TaskSetup, find_task

if TYPE_CHECKING:
    from torch import nn

MADE_UP_LABELS = [f"class {number}" for number in range(5)]  # where there are no data


def open_setup(setup: JobSetup) -> TaskSetup:
    """Load the plug-ins and find the task and the data.

    Raises ZooError where something is missing on this machine.
    """
    registry = _registry(setup.plugin_files, setup.plugin_selection)
    task = find_task(registry, setup.task)
    options = task.options.model_validate(dict(setup.task_options))
    data = EncodedData.open(cached_entry(setup.data)) if setup.data else None
    return TaskSetup(
        task,
        options,
        setup.sizes,
        setup.training,
        vocab_size=setup.sizes.vocab_size if data is None else data.vocab_size,
        labels=MADE_UP_LABELS if data is None else data.trained_labels,
        data=data,
        pretraining=setup.pretraining,
        registry=registry,
        solved_at=setup.solved_at,
    )


def find_baseline(setup: TaskSetup, model: ModelParts) -> Choice | None:
    """The baseline that a model is; None for a cell."""
    specs = model.get("baseline", ())
    return setup.registry.resolve("baseline", specs[0]) if specs else None


def build_model(setup: TaskSetup, model: ModelParts, seed: int) -> nn.Module:
    """The untrained module of a cell, or of a baseline that is trained like one.

    Raises RefusedError where a component refuses what it is built with.
    """
    from torch import nn

    from zoo.models.seeding import seeded

    choice = find_baseline(setup, model)
    try:
        if choice is None:
            return setup.task.build(setup, Cell.resolve(setup.registry, model), seed)
        with seeded(seed, "baseline"):
            module = setup.task.build_baseline(setup, choice)
    except ValueError as error:
        raise RefusedError(" ".join(str(error).split())) from error
    if not isinstance(module, nn.Module):
        raise ZooError(
            f"baseline '{choice}' of {choice.component.owner} built a "
            f"{type(module).__name__}, not a torch.nn.Module"
        )
    return module


@functools.lru_cache(maxsize=8)
def _registry(files: tuple[tuple[str, bytes], ...], selection: str | None) -> Registry:
    """All components of this machine, with the single-file plug-ins that came with the job."""
    return load([_written(*file) for file in files], selection).registry


def _written(name: str, content: bytes) -> Path:
    """A single-file plug-in as a file in this machine's cache."""

    def write(directory: Path) -> dict[str, str]:
        (directory / name).write_bytes(content)
        return {}

    digest = hashlib.sha256(b"%s\0%s" % (name.encode(), content)).hexdigest()
    return entry(f"plugin-{digest[:32]}", write) / name
