"""A run's records as reports read them: whole, or refused in one line that names the line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    Field,
    NonNegativeInt,
    PositiveFloat,
    TypeAdapter,
    ValidationError,
    create_model,
)

from zoo.errors import ZooError
from zoo.registry import AXES
from zoo.sweep.records import FILE, Record, RecordFile
from zoo.tasks.score import SCORES

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Seconds = list[PositiveFloat]
Rounds = list[dict[str, Seconds]]
COSTS = (
    "params",
    "train_seconds",
    "train_tokens_per_s",
    "infer_tokens_per_s",
    "latency_ms",
    "peak_memory_mib",
)


class _Data(BaseModel):
    name: str
    fingerprint: str


class _Config(BaseModel):
    data: _Data


class _Facts(BaseModel):
    batches: list[tuple[NonNegativeInt, NonNegativeInt]]


class _Reference(BaseModel):
    name: str
    rounds: Rounds


class _Samples(BaseModel):
    facts: _Facts
    rounds: Rounds
    reference: _Reference


def _within(lowest: float, highest: float) -> Any:
    """A finite number from the lowest to the highest that can be, or none."""
    return Annotated[Number, Field(ge=lowest, le=highest)] | None, None


_NUMBERS: dict[str, Any] = {cost: _within(0.0, math.inf) for cost in COSTS} | {
    score.name: _within(score.lowest, score.highest)
    for scores in SCORES.values()
    for score in scores
}
_Metrics = create_model(
    "_Metrics",
    confusion=(list[list[NonNegativeInt]], []),
    errors=(list[tuple[NonNegativeInt, int, int]], []),
    **_NUMBERS,
)
_CONFIG, _METRICS, _SAMPLES = (TypeAdapter(model) for model in (_Config, _Metrics, _Samples))


def read_run(directory: Path) -> list[Record]:
    """The records of a run, of which there is at least one.

    Raises ZooError where there is none, and, naming the line, where one lacks what a report is
    made of, or holds what is no number or none that can be, such as an accuracy of 17.5: a file
    that somebody's editor or a bad disk went over.
    """
    records = RecordFile(directory).read()
    if not records:
        raise ZooError(f"{directory}: no {FILE} with records there")
    for number, record in enumerate(records, start=1):
        if lack := _lack(record):
            raise ZooError(f"{directory / FILE}:{number}: no whole record: {lack}")
    return records


def _lack(record: Record) -> str:
    """What is wrong with a record; empty where nothing is."""
    if not record.baseline and set(record.cell) != set(AXES):
        return f"cell: has {', '.join(record.cell) or 'nothing'}, not {', '.join(AXES)}"
    parts = [("config", _CONFIG, record.config)]
    if record.status == "ok":
        parts.append(("metrics", _METRICS, record.metrics))
    if record.status == "ok" and record.kind == "probe":
        parts.append(("samples", _SAMPLES, record.samples))
    for part, shape, value in parts:
        try:
            shape.validate_python(value)
        except ValidationError as error:
            first = error.errors()[0]
            return f"{'.'.join(map(str, (part, *first['loc'])))}: {first['msg']}"
    return _lack_of_counts(record.metrics)


def _lack_of_counts(metrics: dict[str, Any]) -> str:
    """What does not fit between the confusion matrix and the documents that were got wrong."""
    confusion = metrics.get("confusion") or []
    if any(len(row) != len(confusion) for row in confusion):
        return "metrics.confusion: as many rows as columns are wanted"
    documents = metrics.get("documents") or sum(map(sum, confusion))
    farthest = max((error[0] for error in metrics.get("errors") or []), default=-1)
    if documents and farthest >= documents:
        return f"metrics.errors: document {farthest} of {documents}"
    return ""
