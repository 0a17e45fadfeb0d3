"""The lowest recall of any class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.config.metric_description import MetricDescription
from zoo.registry.declarations import part
from zoo.tasks.base import Metric


@part("metric", "my-metric")
def metric() -> Metric:
    """The lowest recall of any class, of those that occur."""
    return Metric(MetricDescription(name="my_metric", label="my metric"), compute)


def compute(outputs: Mapping[str, Any]) -> float:
    """A share; outputs of `classify`: ``predicted`` and ``labels``, int arrays (documents)."""
    labels, right = outputs["labels"], outputs["predicted"] == outputs["labels"]
    return min(float(right[labels == label].mean()) for label in set(labels.tolist()))
