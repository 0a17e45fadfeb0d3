"""Checks of metrics. That the values are right is left to the tests of the metric."""

from __future__ import annotations

from typing import Any

from zoo.conformance.assertions import must
from zoo.conformance.check import check
from zoo.conformance.setups.setup import Setup


@check("metric")
def contract(setup: Setup) -> None:
    """The factory builds a zoo.tasks.base.Metric: a description, and a function of outputs."""
    from zoo.config.metric_description import MetricDescription

    metric = _metric(setup)
    must(
        isinstance(metric.description, MetricDescription),
        f"description is a {type(metric.description).__name__}, no MetricDescription",
    )
    must(callable(metric.compute), f"compute is a {type(metric.compute).__name__}, no function")


@check("metric")
def name(setup: Setup) -> None:
    """Its description has the component's name, with '_' in place of '-'."""
    expected, named = setup.choice.component.name.replace("-", "_"), _metric(setup).description.name
    must(named == expected, f"the description's name is '{named}' instead of '{expected}'")


def _metric(setup: Setup) -> Any:
    from zoo.tasks.base import Metric

    made = setup.make()
    must(isinstance(made, Metric), f"the factory gives a {type(made).__name__}, no Metric")
    return made
