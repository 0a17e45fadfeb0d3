"""What a suite's ``[published]`` table says of the page that its results become."""

from __future__ import annotations

from pathlib import Path
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

from zoo.config.suite import PUBLISHED, read_suite
from zoo.errors import ZooError, nearest
from zoo.registry.kinds import AXES

Text = Annotated[str, Field(min_length=1)]


class PublishedFigure(BaseModel):
    """A number published elsewhere, to compare with a row of ours.

    name: what its source calls it. cell: axis to choice, as many as identify the row. value: of
    ``metric``, a name in a record's metrics. seconds: of the training there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Text
    cell: Annotated[dict[str, str], Field(min_length=1)]
    metric: Text = "accuracy"
    value: float | None = None
    seconds: NonNegativeFloat | None = None
    source: Text

    @field_validator("cell")
    @classmethod
    def _known_axes(cls, cell: dict[str, str]) -> dict[str, str]:
        for axis in cell:
            if axis not in AXES:
                raise ValueError(f"no axis '{axis}'{nearest(axis, AXES)}")
        return cell

    @model_validator(mode="after")
    def _has_a_number(self) -> PublishedFigure:
        if self.value is None and self.seconds is None:
            raise ValueError("a figure needs value or seconds")
        return self


class Published(BaseModel):
    """What is on a page besides the contents of its records.

    directory: where the results are, under the published directory: one, or one per machine.
    text: sentences below the title. data: where the data come from. notes: how the figures were
    made that ours are compared with. reference: the suite's reference cell.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    directory: Annotated[tuple[Text, ...], Field(min_length=1)]
    title: Text
    text: str = ""
    data: str = ""
    notes: tuple[Text, ...] = ()
    figures: tuple[PublishedFigure, ...] = ()
    reference: str = ""

    @field_validator("directory", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


def load_published(file: str | Path) -> Published | None:
    """The ``[published]`` table of a suite; None where it has none.

    Raises ZooError, in one line, where the file cannot be read or the table is wrong.
    """
    suite = read_suite(Path(file))
    table, where = suite.get(PUBLISHED), f"suite {file}: [published]"
    if table is None:
        return None
    try:
        if isinstance(table, dict):
            table = {"reference": suite.get("reference", ""), **table}
        return Published.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
    place, key = [str(part) for part in first["loc"]], str(first["loc"][-1] if first["loc"] else "")
    if first["type"] == "extra_forbidden":
        model = PublishedFigure if "figures" in place[:-1] else Published
        raise ZooError(f"{where} has no key '{key}'{nearest(key, model.model_fields)}")
    raise ZooError(f"{where} {'.'.join(place)}: {first['msg'].removeprefix('Value error, ')}")
