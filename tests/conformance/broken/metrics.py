"""Metrics that are wrong in one way each."""

from __future__ import annotations

from specimens import Specimens, registering

from zoo.config.metric_description import MetricDescription

broken = Specimens("metric")
zoo_register = registering(broken)


def described(name: str, **changes):
    from zoo.tasks.base import Metric

    parts = {"description": MetricDescription(name=name, label=name), "compute": lambda _: 0.5}
    return Metric(**{**parts, **changes})


@broken.caught_by("contract", "gives a float, no Metric")
def number():
    return 0.5


@broken.caught_by("contract", "description is a str, no MetricDescription")
def described_in_text():
    return described("a", description="the share of right answers")


@broken.caught_by("contract", "compute is a float, no function")
def computed_before():
    return described("computed_before", compute=0.5)


@broken.caught_by("contract", "name is 'share' instead of 'another_name'")
def another_name():
    return described("share")
