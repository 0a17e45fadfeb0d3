"""What a suite's ``[published]`` table says of the page that its results become."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    ValidationError,
    field_validator,
    model_validator,
)

from zoo.errors import ZooError, nearest
from zoo.registry import AXES

Line = Annotated[str, Field(min_length=1)]


class Beside(BaseModel):
    """A figure published elsewhere, set beside a row of ours.

    name: what its source calls it. cell: axis to choice, as many as it takes to tell the row.
    value: of ``metric``, a name in a record's metrics. seconds: what the training took there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Line
    cell: Annotated[dict[str, str], Field(min_length=1)]
    metric: Line = "accuracy"
    value: float | None = None
    seconds: NonNegativeFloat | None = None
    source: Line

    @field_validator("cell")
    @classmethod
    def _axes(cls, cell: dict[str, str]) -> dict[str, str]:
        for axis in cell:
            if axis not in AXES:
                raise ValueError(f"no axis '{axis}'{nearest(axis, AXES)}")
        return cell

    @model_validator(mode="after")
    def _says_something(self) -> Beside:
        if self.value is None and self.seconds is None:
            raise ValueError("a figure needs value or seconds")
        return self


class Published(BaseModel):
    """What stands on a page beside what its records say.

    directory: where the results are, under the published directory: one, or one per machine.
    text: sentences under the title. data: whose the data are. notes: what a reader must know of
    how the figures beside ours were made.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    directory: Annotated[tuple[Line, ...], Field(min_length=1)]
    title: Line
    text: str = ""
    data: str = ""
    notes: tuple[Line, ...] = ()
    beside: tuple[Beside, ...] = ()

    @field_validator("directory", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


def parse_published(table: Any, where: str) -> Published:
    """The table of a suite; ZooError in one line for a key or a value that it cannot have."""
    try:
        return Published.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
    place, key = [str(part) for part in first["loc"]], str(first["loc"][-1] if first["loc"] else "")
    if first["type"] == "extra_forbidden":
        known = (Beside if "beside" in place[:-1] else Published).model_fields
        raise ZooError(f"{where}: [published] has no key '{key}'{nearest(key, known)}")
    message = first["msg"].removeprefix("Value error, ")
    raise ZooError(f"{where}: [published] {'.'.join(place)}: {message}")
