"""What a suite's ``[published]`` table says of the page that its results become."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
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

from zoo.config.request import PUBLISHED, read_suite
from zoo.errors import ZooError, nearest
from zoo.registry.kinds import AXES
from zoo.report.rows import Row
from zoo.report.stats.intervals import Interval, over_seeds
from zoo.report.stats.paired import Difference
from zoo.report.stats.verdicts import Verdicts
from zoo.report.tables.text import code

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
    source: the data that ``--data`` names, where that is no data set of the zoo. text: sentences
    below the title. data: where the data come from. notes: how the figures were made that ours are
    compared with. reference, metric: the suite's reference cell, and the metric that ranks its
    rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    directory: Annotated[tuple[Text, ...], Field(min_length=1)]
    title: Text
    source: str = ""
    text: str = ""
    data: str = ""
    notes: tuple[Text, ...] = ()
    figures: tuple[PublishedFigure, ...] = ()
    reference: str = ""
    metric: str = ""

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
            shared = {name: suite.get(name, "") for name in ("reference", "metric")}
            table = {**shared, **table}
        return Published.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
    place, key = [str(part) for part in first["loc"]], str(first["loc"][-1] if first["loc"] else "")
    if first["type"] == "extra_forbidden":
        model: type[BaseModel] = PublishedFigure if "figures" in place[:-1] else Published
        raise ZooError(f"{where} has no key '{key}'{nearest(key, model.model_fields)}")
    raise ZooError(f"{where} {'.'.join(place)}: {first['msg'].removeprefix('Value error, ')}")


@dataclass(frozen=True)
class Figure:
    """A published figure and our row; ours: the same metric; seconds: of our training."""

    published: PublishedFigure
    row: Row
    ours: Interval | None
    seconds: Interval | None

    @property
    def cell(self) -> str:
        """The choices that identify the row."""
        return "+".join(self.published.cell.values())


@dataclass(frozen=True)
class PublishedDifference:
    """Two figures with different values: first minus second, as published and ours."""

    first: Figure
    second: Figure
    published: float
    ours: Difference | None

    @property
    def names(self) -> str:
        """Both rows, as Markdown."""
        return f"{code(self.first.cell)} against {code(self.second.cell)}"

    @property
    def ours_text(self) -> str:
        """Our difference with its interval; empty where there is none."""
        metric, ours = self.first.row.metric, self.ours
        return metric.format_difference(ours.mean, ours.half) if ours else ""

    @property
    def verdict(self) -> str:
        """``real``, ``tie``, ``reversed`` (real in the other direction), or "" if unknown."""
        if self.ours is None or self.ours.adjusted is None:
            return ""
        if not self.ours.real:
            return "tie"
        return "real" if (self.ours.mean > 0) == (self.published > 0) else "reversed"


def make_figures(
    rows: Sequence[Row], verdicts: Verdicts, figures: Sequence[PublishedFigure]
) -> list[Figure]:
    """Each figure with the row it belongs to; ZooError where that is none, or several.

    verdicts: those of the report of these rows, whose intervals of the ranking metric are taken.
    """
    found = []
    for one in figures:
        matching = [
            row
            for row in rows
            if not row.baseline and all(row.cell.get(axis) == c for axis, c in one.cell.items())
        ]
        if len(matching) != 1:
            raise ZooError(
                f"[published] figure '{one.name}': {'+'.join(one.cell.values())} is "
                f"{'no row' if not matching else 'not one row but several'} of the records"
            )
        (row,) = matching
        values, seconds = (
            over_seeds(list(row.values_of(name).values())) for name in (one.metric, "train_seconds")
        )
        ours = verdicts.intervals.get(row.name) if one.metric == row.metric.name else values
        found.append(Figure(one, row, ours, seconds))
    return found


def published_differences(
    figures: Sequence[Figure], verdicts: Verdicts
) -> list[PublishedDifference]:
    """Every pair of figures of the ranking metric that differ, the larger one first.

    verdicts: those of the whole report, so that its table says the same.
    """
    scored = [
        (figure.published.value, figure)
        for figure in figures
        if figure.published.value is not None and figure.published.metric == figure.row.metric.name
    ]
    pairs = []
    for one, other in itertools.combinations(scored, 2):
        if one[0] != other[0] and one[1].row is not other[1].row:
            pairs.append((one, other) if one[0] > other[0] else (other, one))
    return [
        PublishedDifference(
            one, other, value - other_value, verdicts.pair(one.row.name, other.row.name)
        )
        for (value, one), (other_value, other) in pairs
    ]
