"""What is written beside a kept model's weights: all it takes to build it again. No torch here."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationInfo,
    field_validator,
)

from zoo import __version__
from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo.registry import AXES, BUILT_IN, Choice, Registry
from zoo.registry.cell import Cell, Task
from zoo.sweep.keys import component_hash

SCHEMA_VERSION: Final = 1
FORMAT: Final = "encoder-zoo model"


class Part(BaseModel):
    """One component: its choice as ``distribution:name(param=value)``, and whose code it was.

    code: a hash of the source files it is likely made of.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    choice: str
    owner: str
    version: str
    code: str

    @classmethod
    def of(cls, choice: Choice) -> Part:
        """The part that a choice is."""
        component = choice.component
        given = ", ".join(f"{name}={value!r}" for name, value in choice.given.items())
        return cls(
            choice=f"{component.full_name}({given})" if given else component.full_name,
            owner=component.owner.distribution,
            version=component.owner.version,
            code=component_hash(choice),
        )

    @property
    def full_name(self) -> str:
        """The component's name without parameters: ``distribution:name``."""
        return self.choice.partition("(")[0]


class SampleOutputs(BaseModel):
    """Token ids of made-up texts, and the scores (texts, n) the trained model gave them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: Annotated[list[Annotated[list[NonNegativeInt], Field(min_length=1)]], Field(min_length=1)]
    logits: list[list[float]]


class Card(BaseModel):
    """A kept model, as ``config.json`` holds it.

    labels: of a classifier. files: SHA-256 of the files beside it. parts: axis to component. data,
    execution: as in a record. scores: metrics of the trial. key: that of the trial's record in a
    ``zoo bench``. command: scores this model again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["encoder-zoo model"] = FORMAT
    schema_version: Literal[1] = SCHEMA_VERSION
    zoo: str = __version__
    task: Task = "classify"
    cell: str
    parts: dict[str, Part]
    labels: list[str]
    vocab_size: PositiveInt
    sizes: Sizes
    training: Training
    read_last: bool
    seed: NonNegativeInt
    data: dict[str, Any]
    execution: dict[str, Any]
    scores: dict[str, Any]
    curve: list[dict[str, float]]
    witness: SampleOutputs
    environment: dict[str, Any]
    key: str
    command: str
    saved: str = Field(
        default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    )
    files: dict[str, str] = {}

    @field_validator("labels")
    @classmethod
    def _classes(cls, labels: list[str], info: ValidationInfo) -> list[str]:
        if info.data.get("task") == "classify" and len(labels) < 2:
            raise ValueError("a classifier has two classes or more")
        return labels

    def find_cell(self, registry: Registry, *, allow_changed: bool = False) -> Cell:
        """The components of the model among those registered here.

        Raises ZooError naming what is missing, or, unless allowed, what has changed.
        """
        found = {}
        for axis in AXES:
            if axis not in self.parts:
                raise ZooError(f"config.json names no {axis}")
            found[axis] = _find(registry, axis, self.parts[axis])
            if not allow_changed:
                _refuse_changed(axis, self.parts[axis], found[axis])
        return Cell(**found)

    def differences(self, cell: Cell) -> str:
        """Whose code is not what it was, in a few words; empty where all is."""
        changed = {
            f"{axis} ({part.owner} {part.version}, here {here.version})"
            for axis, part in self.parts.items()
            if (here := Part.of(getattr(cell, axis))) != part
        }
        return ", ".join(sorted(changed))


def _find(registry: Registry, axis: str, part: Part) -> Choice:
    known = {component.full_name for component in registry.components(axis)}
    if part.full_name in known:
        return registry.choose(axis, part.choice)
    name = part.full_name.removeprefix(f"{part.owner}:")
    if part.owner == BUILT_IN:
        raise ZooError(
            f"needs {axis} '{name}' of encoder-zoo {part.version}, which {__version__} has not"
        )
    if part.owner.endswith(".py"):
        raise ZooError(
            f"needs {axis} '{name}' of the plug-in file {part.owner}: name it with --plugin "
            f"(plugins=[...] in Python)"
        )
    raise ZooError(
        f"needs {axis} '{name}' of {part.owner} {part.version}, which is not among the plug-ins "
        "here: install it ('zoo plugins' tells what there is)"
    )


def _refuse_changed(axis: str, part: Part, choice: Choice) -> None:
    """A foreign component must be what it was; a built-in one is known by its answers."""
    here = Part.of(choice)
    if part.owner == BUILT_IN or (here.version, here.code) == (part.version, part.code):
        return
    name = part.full_name.removeprefix(f"{part.owner}:")
    if here.version != part.version:
        what = f"was trained with {axis} '{name}' of {part.owner} {part.version}, and here is "
        what += f"{here.version}: install {part.version}"
    else:
        what = f"was trained with other code of {axis} '{name}' ({part.owner} {part.version})"
        what += ": bring that back"
    raise ZooError(f"{what}, or load it all the same with --allow-changed (allow_changed=True)")


def written_by_newer(value: Mapping[str, Any]) -> bool:
    """Whether a later version of this format wrote it."""
    version = value.get("schema_version")
    return isinstance(version, int) and version > SCHEMA_VERSION
