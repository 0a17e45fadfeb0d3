"""The description of a saved model: everything needed to build it again. No torch here."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PlainSerializer,
    PositiveInt,
    ValidationError,
)

from zoo import __version__
from zoo.config.metric_description import MetricDescription
from zoo.config.settings import NO_PRETRAINING, Pretraining, Training
from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo.registry import AXES, BUILT_IN, Choice, Registry
from zoo.registry.cell import Cell
from zoo.tasks.base import Task, TaskSetup, find_task

SCHEMA_VERSION: Final = 2
FORMAT: Final = "encoder-zoo model"
MODEL_TYPE: Final = "encoder-zoo"


class Part(BaseModel):
    """One component: its choice as ``distribution:name(param=value)``, its owner and version."""

    model_config = ConfigDict(frozen=True)

    choice: str
    owner: str
    version: str

    @classmethod
    def of(cls, choice: Choice) -> Part:
        """The description of a choice."""
        component = choice.component
        given = [f"{name}={value!r}" for name, value in choice.given.items()]
        return cls(
            choice=f"{component.full_name}({', '.join(given)})" if given else component.full_name,
            owner=component.owner.distribution,
            version=component.owner.version,
        )

    @property
    def full_name(self) -> str:
        """The component's name without parameters: ``distribution:name``."""
        return self.choice.partition("(")[0]

    @property
    def name(self) -> str:
        """The name without parameters and distribution."""
        return self.full_name.removeprefix(f"{self.owner}:")


# The components of a pattern; one alone is written without a list.
Parts = Annotated[
    tuple[Part, ...],
    Field(min_length=1),
    BeforeValidator(lambda value: (value,) if isinstance(value, dict) else value),
    PlainSerializer(lambda parts: parts[0] if len(parts) == 1 else parts),
]


class SampleOutputs(BaseModel):
    """Token ids of made-up texts, and the trained model's scores (texts, n) for them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: Annotated[list[Annotated[list[NonNegativeInt], Field(min_length=1)]], Field(min_length=1)]
    scores: list[list[float]]


class Card(BaseModel):
    """A saved model, as ``config.json`` holds it.

    model_type: by it Transformers finds the classes of the plug-in zoo-hf. task_part, parts: the
    task and, for each axis, the components of its pattern. labels: names of the classes, where the
    task has classes. files: SHA-256 of the weights and the tokenizer. data, execution: as in a
    record. metrics, metric_descriptions: of the training; a model of all the data has no score
    among its metrics, and ``scored`` there is empty. key: of the training's record in a bench.
    command: trains and scores this model again. pipeline_tag: of its task (``Task.pipeline_tag``).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    format: Literal["encoder-zoo model"] = FORMAT
    model_type: Literal["encoder-zoo"] = MODEL_TYPE
    schema_version: Literal[2] = SCHEMA_VERSION
    zoo: str = __version__
    task: str
    task_options: dict[str, Any]
    task_part: Part
    cell: str
    parts: dict[str, Parts]
    labels: list[str]
    vocab_size: PositiveInt
    sizes: Sizes
    training: Training
    pretraining: Pretraining = NO_PRETRAINING
    seed: NonNegativeInt
    data: dict[str, Any]
    execution: dict[str, Any]
    metrics: dict[str, Any]
    metric_descriptions: tuple[MetricDescription, ...]
    curve: list[dict[str, float]]
    sample_outputs: SampleOutputs
    environment: dict[str, Any]
    key: str
    command: str
    pipeline_tag: str = ""
    saved: str = Field(
        default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    )
    files: dict[str, str] = {}

    def find_task(self, registry: Registry) -> Task:
        """The task of the model; ZooError where it is missing."""
        return find_task(registry, str(_find(registry, "task", self.task_part)))

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
        found = {}
        for axis in AXES:
            if axis not in self.parts:
                raise ZooError(f"config.json has no {axis}")
            parts = self.parts[axis]
            found[axis] = tuple(_find(registry, axis, p) for p in parts)
        return Cell(found)

    def differences(self, cell: Cell) -> str:
        """A clause that names the parts of other versions; empty where none has another."""
        changed = {
            f"{axis} ({part.owner} {part.version}, here {here.version})"
            for axis, parts in self.parts.items()
            for part, choice in zip(parts, cell.axes[axis], strict=True)
            if (here := Part.of(choice)) != part
        }
        return f"; changed since: {', '.join(sorted(changed))}" if changed else ""


def first_error(error: ValidationError) -> str:
    """The first field that is wrong, and what is wrong with it."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"


def _find(registry: Registry, kind: str, part: Part) -> Choice:
    """The registered component of a part; ZooError where it is missing."""
    if part.full_name in {component.full_name for component in registry.components(kind)}:
        return registry.choose(kind, part.choice)
    if part.owner == BUILT_IN:
        where = f"encoder-zoo {part.version}, which {__version__} lacks"
    elif part.owner.endswith(".py"):
        where = f"the plug-in file {part.owner}: name it with --plugin (plugins=[...])"
    else:
        where = (
            f"{part.owner} {part.version}, which is not among the plug-ins here: install it ('zoo "
            "plugins' lists what there is)"
        )
    raise ZooError(f"needs {kind} '{part.name}' of {where}")
