"""A task, a metric and an executor, each right. Without torch, as a task must be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import BaseModel

from zoo import hookimpl
from zoo.config.metric_description import MetricDescription
from zoo.registry import Register
from zoo.tasks.base import Task


class Options(BaseModel):
    margin: float = 0.5


class Rank(Task):
    """Only what the checks read; the methods of the contract are tested with the tasks."""

    options = Options
    needs: ClassVar = {"attention": {"causal"}, "block": frozenset({"cross"})}
    metrics = ("mean-rank",)


Rank.__abstractmethods__ = frozenset()


def mean_rank() -> object:
    from zoo.tasks.base import Metric

    description = MetricDescription(
        name="mean_rank", label="mean rank", higher_is_better=False, highest=None
    )
    return Metric(description, lambda outputs: float(outputs["rank"]))


class NoExecutor:
    """Runs nothing."""

    def run(self, jobs: object, *, limits: object) -> Iterator[object]:
        return iter(())

    def close(self) -> None:
        pass


@hookimpl
def zoo_register(register: Register) -> None:
    register("task", "rank", Rank, summary="sound")
    register("metric", "mean-rank", mean_rank, summary="sound")
    register("executor", "none", NoExecutor, summary="sound")
