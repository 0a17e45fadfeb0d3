"""The description of a saved model: everything needed to build it again. No torch here."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    field_validator,
)

from zoo import __version__
from zoo.config.metric_description import MetricDescription
from zoo.config.settings import NO_PRETRAINING, Pretraining, Training
from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo.registry import AXES, Choice, Registry
from zoo.registry.cell import Cell
from zoo.tasks.base import Task, TaskSetup, find_task

SCHEMA_VERSION: Final = 3
FORMAT: Final = "encoder-zoo model"
MODEL_TYPE: Final = "encoder-zoo"


class SampleOutputs(BaseModel):
    """Token ids of made-up texts, and the trained model's scores (texts, n) for them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: Annotated[list[Annotated[list[NonNegativeInt], Field(min_length=1)]], Field(min_length=1)]
    scores: list[list[float]]


class Card(BaseModel):
    """A saved model, as ``config.json`` holds it.

    model_type: by it Transformers finds the classes of the plug-in zoo-hf. parts: for each axis the
    components of its pattern, each as ``distribution:name(param=value)``. versions: of the
    distributions that these and the task are from. labels: names of the classes, where the task has
    classes. files: SHA-256 of the weights and the tokenizer. data, metrics, metric_descriptions: as
    in the training's record; a model of all the data has no score among its metrics, and
    ``scored`` there is empty. key: of the training's record in a bench. command: trains and scores
    this model again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    format: Literal["encoder-zoo model"] = FORMAT
    model_type: Literal["encoder-zoo"] = MODEL_TYPE
    schema_version: Literal[3] = SCHEMA_VERSION
    zoo: str = __version__
    task: str
    task_options: dict[str, Any]
    cell: str
    parts: dict[str, list[str]]
    versions: dict[str, str]
    labels: list[str]
    vocab_size: PositiveInt
    sizes: Sizes
    training: Training
    pretraining: Pretraining = NO_PRETRAINING
    seed: NonNegativeInt
    data: dict[str, Any]
    metrics: dict[str, Any]
    metric_descriptions: tuple[MetricDescription, ...]
    sample_outputs: SampleOutputs
    key: str
    command: str
    saved: str = Field(
        default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    )
    files: dict[str, str] = {}

    @field_validator("parts")
    @classmethod
    def _has_every_axis(cls, parts: dict[str, list[str]]) -> dict[str, list[str]]:
        if {axis for axis, names in parts.items() if names} != {*AXES}:
            raise ValueError(f"it must name parts for {', '.join(AXES)}")
        return parts

    def find_task(self, registry: Registry) -> Task:
        """The task of the model; ZooError where it is missing."""
        try:
            return find_task(registry, self.task)
        except ZooError as error:
            raise self._missing(error) from error

    def setup(self, registry: Registry) -> TaskSetup:
        """What the task builds the model from; ZooError where it lacks the task or its options."""
        task = self.find_task(registry)
        try:
            options = task.options.model_validate(self.task_options)
        except ValidationError as error:
            what = f"config.json does not match task '{self.task}'"
            raise ZooError(f"{what}: {first_error(error)}") from None
        return TaskSetup(task, options, self.sizes, self.training, self.vocab_size, self.labels)

    def find_cell(self, registry: Registry) -> Cell:
        """The components of the model as registered here; ZooError where one is missing."""
        try:
            return Cell(
                {
                    axis: tuple(registry.choose(axis, part) for part in parts)
                    for axis, parts in self.parts.items()
                }
            )
        except ZooError as error:
            raise self._missing(error) from error

    def changed(self, cell: Cell) -> str:
        """The distributions of the cell that have another version here, in words."""
        here = versions_of(cell.choices)
        return ", ".join(
            f"{name} {version}, here {here[name]}"
            for name, version in self.versions.items()
            if here.get(name, version) != version
        )

    def _missing(self, error: ZooError) -> ZooError:
        """What is missing, and what has it."""
        had = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return ZooError(
            f"{error}; it was trained with {had}: install what is missing, or name a plug-in file "
            "with --plugin (plugins=[...])"
        )


def full_name(choice: Choice) -> str:
    """A choice as ``distribution:name(param=value)``."""
    return str(choice.spec._replace(name=choice.component.full_name))


def versions_of(choices: tuple[Choice, ...]) -> dict[str, str]:
    """The distributions that components are from, with their versions."""
    owners = (choice.component.owner for choice in choices)
    return {owner.distribution: owner.version for owner in owners}


def first_error(error: ValidationError) -> str:
    """The first field that is wrong, and what is wrong with it."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"
