"""A run's records: complete, or refused in one line that names the line."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    create_model,
    model_validator,
)

from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError
from zoo.sweep.records import FILE, Record, RecordFile

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
COSTS = (
    "params",
    "train_seconds",
    "pretrain_seconds",
    "train_tokens_per_s",
    "infer_tokens_per_s",
    "latency_ms",
    "peak_memory_mib",
)


class _Data(BaseModel):
    name: str
    fingerprint: str
    remarks: list[str] = []


class _Pretraining(BaseModel):
    init: str = ""
    pretrain_epochs: PositiveInt = 1
    pretrain_lr: PositiveFloat = 1.0
    pretrain_masked: PositiveFloat = 1.0


class _Config(BaseModel):
    task: str
    data: _Data
    sizes: dict[str, Any] = {}
    training: dict[str, Any] = {}
    execution: dict[str, Any] = {}
    task_options: dict[str, Any] = {}
    pretraining: _Pretraining | None = None


class _Properties(BaseModel):
    batches: list[tuple[NonNegativeInt, NonNegativeInt]]


class _Clocks(BaseModel):
    wall: list[list[PositiveFloat]]
    cpu: list[list[NonNegativeFloat]]

    @model_validator(mode="after")
    def _same_turns(self) -> Self:
        if list(map(len, self.wall)) != list(map(len, self.cpu)):
            raise ValueError("wall and cpu are of different turns")
        return self


class _Timed(BaseModel):
    """What was timed in turns; older versions had rounds, which have no ratio."""

    properties: _Properties | None = None
    clock: Literal["cpu", "wall"] | None = None
    turns: dict[str, _Clocks] = {}

    @model_validator(mode="after")
    def _can_be_compared(self) -> Self:
        if self.turns and not (self.clock and self.properties and self.properties.batches):
            raise ValueError("turns need a clock and batches")
        return self


class _Reference(_Timed):
    name: str


class _Samples(_Timed):
    properties: _Properties
    reference: _Reference


class _Metrics(BaseModel):
    examples: NonNegativeInt | None = None
    confusion: list[list[NonNegativeInt]] = []
    errors: list[Annotated[list[Any], Field(min_length=1)]] = []
    effective_examples: dict[str, PositiveFloat] = {}


@functools.cache
def _metrics_model(descriptions: tuple[MetricDescription, ...]) -> type[BaseModel]:
    """Costs are not negative, and metrics are within the range of their description."""
    ranges: dict[str, tuple[float | None, float | None]] = dict.fromkeys(COSTS, (0.0, None))
    ranges |= {metric.name: (metric.lowest, metric.highest) for metric in descriptions}
    numbers: dict[str, Any] = {
        name: (Annotated[Number, Field(ge=low, le=high)] | None, None)
        for name, (low, high) in ranges.items()
    }
    return create_model("_RunMetrics", __base__=_Metrics, **numbers)


def read_run(directory: Path) -> list[Record]:
    """The records of a run, of which there is at least one.

    Raises ZooError where there are none, and, naming the line, where a record lacks what a report
    needs or holds an impossible number, such as an accuracy of 17.5.
    """
    records = RecordFile(directory).read()
    if not records:
        raise ZooError(f"{directory}: no {FILE} with records there")
    refuse_incomplete(records, directory)
    return records


def refuse_incomplete(records: Sequence[Record], directory: Path) -> None:
    """Raise ZooError, naming the line, for the first of a run's records that is not complete."""
    axes = next((set(record.cell) for record in records if record.cell), set())
    data: dict[str, Any] = {}
    for number, record in enumerate(records, start=1):
        problem = _problem(record, axes)
        data = data or record.config.get("data", {})
        if not problem and record.config["data"]["fingerprint"] != data["fingerprint"]:
            problem = "config.data.fingerprint: of other data than line 1"
        if problem:
            raise ZooError(f"{directory / FILE}:{number}: incomplete record: {problem}")


def _problem(record: Record, axes: set[str]) -> str:
    """What is wrong with a record; empty where nothing is."""
    if not record.baseline and (set(record.cell) != axes or not axes):
        return f"cell: has {', '.join(record.cell) or 'nothing'}, not {', '.join(sorted(axes))}"
    parts: list[tuple[str, type[BaseModel], Any]] = [("config", _Config, record.config)]
    if record.status == "ok":
        parts.append(("metrics", _metrics_model(record.metric_descriptions), record.metrics))
        if record.kind == "cost":
            parts.append(("samples", _Samples, record.samples))
    for part, model, value in parts:
        try:
            model.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            said = first["msg"].removeprefix("Value error, ")
            return f"{'.'.join(map(str, (part, *first['loc'])))}: {said}"
    if record.kind == "train" and record.status == "ok":
        for metric in record.metric_descriptions:
            if record.metrics.get(metric.name) is None:
                return f"metrics.{metric.name}: is missing"
    return _wrong_counts(record.metrics)


def _wrong_counts(metrics: dict[str, Any]) -> str:
    """What does not fit between confusion matrix, number of examples and wrong examples."""
    confusion, examples = metrics.get("confusion") or [], metrics.get("examples")
    if any(len(row) != len(confusion) for row in confusion):
        return "metrics.confusion: must have as many rows as columns"
    if confusion and examples not in (None, sum(map(sum, confusion))):
        return f"metrics.confusion: does not add up to {examples} examples"
    most = math.inf if examples is None else examples
    for index, *_ in metrics.get("errors") or []:
        if not isinstance(index, int) or not 0 <= index < most:
            return f"metrics.errors: example {index} of {examples}"
    return ""
