"""A run's records: complete, or refused in one line that names the line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from zoo.errors import ZooError
from zoo.sweep.records import FILE, Record, RecordFile

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _Data(BaseModel):
    name: str
    fingerprint: str


class _Config(BaseModel):
    task: str
    data: _Data
    sizes: dict[str, Any] = {}
    training: dict[str, Any] = {}
    execution: dict[str, Any] = {}
    task_options: dict[str, Any] = {}


class _Reference(BaseModel):
    name: str


class _Samples(BaseModel):
    """What ratios of speeds are made from; older versions had rounds, which have none."""

    properties: dict[str, Any]
    reference: _Reference
    turns: dict[str, dict[str, list[list[Number]]]] = {}


def read_run(directory: Path) -> list[Record]:
    """The records of a run, of which there is at least one.

    Raises ZooError where there are none, and, naming the line, where a record lacks what a report
    needs or holds an impossible score, such as an accuracy of 17.5.
    """
    records = RecordFile(directory).read()
    if not records:
        raise ZooError(f"{directory}: no {FILE} with records there")
    refuse_incomplete(records, directory)
    return records


def refuse_incomplete(records: Sequence[Record], directory: Path) -> None:
    """Raise ZooError, naming the line, for the first of a run's records that is not complete."""
    axes = next((set(record.cell) for record in records if record.cell), set())
    fingerprint: str | None = None
    for number, record in enumerate(records, start=1):
        problem = _problem(record, axes)
        if problem is None:
            here = record.config["data"]["fingerprint"]
            fingerprint = fingerprint or here
            if here != fingerprint:
                problem = "config.data.fingerprint: of other data than line 1"
        if problem is not None:
            raise ZooError(f"{directory / FILE}:{number}: incomplete record: {problem}")


def _problem(record: Record, axes: set[str]) -> str | None:
    """What is wrong with a record; None where nothing is."""
    if not record.baseline and (set(record.cell) != axes or not axes):
        return f"cell: has {', '.join(record.cell) or 'nothing'}, not {', '.join(sorted(axes))}"
    parts: list[tuple[str, type[BaseModel], Any]] = [("config", _Config, record.config)]
    if record.status == "ok" and record.kind == "cost":
        parts.append(("samples", _Samples, record.samples))
    for part, model, value in parts:
        try:
            model.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            return f"{'.'.join(map(str, (part, *first['loc'])))}: {first['msg']}"
    if record.status != "ok" or record.kind not in ("train", "tune"):
        return None
    for metric in record.metric_descriptions:
        score = record.metrics.get(metric.name)
        if score is None and record.kind == "train":
            return f"metrics.{metric.name}: is missing"
        if score is not None and not _is_within(score, metric.lowest, metric.highest):
            return f"metrics.{metric.name}: {score!r} is no possible score"
    return None


def _is_within(score: Any, lowest: float | None, highest: float | None) -> bool:
    """Whether it is a finite number between these, of which each may be missing."""
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        return False
    return (lowest is None or score >= lowest) and (highest is None or score <= highest)
