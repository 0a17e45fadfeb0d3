"""Tasks that are wrong in one way each. No torch here, except where that is the fault."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel
from specimens import Specimens

from zoo import hookimpl
from zoo.registry import Register
from zoo.tasks.base import Task

broken = Specimens("task")


@hookimpl
def zoo_register(register: Register) -> None:
    broken.register(register)
    register("metric", "share", dict, summary="a metric that tasks can name")


class Options(BaseModel):
    size: int = 3


class Sound(Task):
    """Only what the checks read; the methods of the contract are tested with the tasks."""

    options = Options
    needs: ClassVar = {"attention": frozenset({"causal"})}
    metrics = ("share",)


Sound.__abstractmethods__ = frozenset()


@broken.caught_by("laws", "gives a dict, no Task")
def no_task():
    return {}


@broken.caught_by("laws", "no subclass of pydantic.BaseModel")
class OptionsInADict(Sound):
    options: ClassVar = {"size": 3}


@broken.caught_by("laws", "options without a default: width")
class RequiredOption(Sound):
    class Wide(Options):
        width: int

    options = Wide


@broken.caught_by("laws", "no mapping from axis")
class NeedsAList(Sound):
    needs: ClassVar = ["causal"]


@broken.caught_by("laws", "'atention', which is no axis")
class NeedsOfNoAxis(Sound):
    needs: ClassVar = {"atention": {"causal"}}


@broken.caught_by("laws", "needs of attention are a str, no set")
class NeedsText(Sound):
    needs: ClassVar = {"attention": "causal"}


@broken.caught_by("laws", "no attention can declare 'flies'")
class NeedsTheImpossible(Sound):
    needs: ClassVar = {"attention": {"flies", "causal"}}


@broken.caught_by("laws", "reads is 'pairs', no tuple")
class ReadsText(Sound):
    reads = "pairs"


@broken.caught_by("laws", "no data can declare 'pictures'")
class ReadsPictures(Sound):
    reads = ("text-labels", "pictures")


@broken.caught_by("laws", "metrics is \\(\\), no tuple of names")
class NothingMeasured(Sound):
    metrics = ()


@broken.caught_by("laws", "metrics is 'share', no tuple of names")
class MetricsInText(Sound):
    metrics = "share"


@broken.caught_by("laws", "no metric 'shrae'; did you mean 'share'")
class UnknownMetric(Sound):
    metrics = ("share", "shrae")


@broken.caught_by("laws", "it imports torch")
class ImportsTorch(Sound):
    def __init__(self):
        import torch  # noqa: F401


@broken.caught_by("laws", "in a new process: RuntimeError: not twice")
class FailsInANewProcess(Sound):
    def __init__(self):
        import sys

        if "torch" not in sys.modules:
            raise RuntimeError("not twice")


@broken.caught_by("declares", "the factory takes 'size', which is not registered", parameters={})
class TakesAnArgument(Sound):
    def __init__(self, size=3):
        self.size = size
