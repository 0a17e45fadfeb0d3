"""Options of a run that takes less than a second, and plug-in files."""

from __future__ import annotations

from collections.abc import Mapping

SIZES = {"dim": 16, "heads": 2, "ffn_dim": 32, "layers": 1, "max_length": 16, "vocab_size": 100}
SMALL = {
    **SIZES,
    "data": "order(train=60,test=12)",
    "epochs": 1,
    "threads": 1,
    "device": "cpu",
    "phases": "train",
    "baseline": "none",
}


def words(options: Mapping[str, object]) -> list[str]:
    """Options as on a command line."""
    pairs = ((f"--{name.replace('_', '-')}", str(value)) for name, value in options.items())
    return [word for pair in pairs for word in pair]


WORDS = [*words(SMALL), "--on", "inline"]

FAILING = """
from zoo import hookimpl
from zoo.components.attention.fused import Fused

class Failing(Fused):
    def forward(self, *args, **kwargs):
        raise RuntimeError("the attention gave up")

@hookimpl
def zoo_register(register):
    register("attention", "failing", Failing, summary="raises", capabilities=("rotate", "padding"))
"""

TASK = '''
"""A task of which nothing works but its options."""

from pydantic import Field

from zoo import hookimpl
from zoo.tasks.base import Task, TaskOptions


class CountOptions(TaskOptions):
    data_fields = ("unit_column",)

    unit_column: str = Field("unit", description="Column of the units.")
    largest: int = Field(9, description="Largest number.")
    aloud: bool = Field(False, description="Count aloud.")
    ensemble: str = Field("all", description="Who counts.")


class Count(Task):
    options = CountOptions
    metrics = ("accuracy",)
    defaults = {"epochs": 77}


Count.__abstractmethods__ = frozenset()


class Broken:
    def __init__(self):
        raise RuntimeError("no such luck")


@hookimpl
def zoo_register(register):
    register("task", "count", Count, summary="counting")
    register("task", "broken", Broken, summary="cannot be built")
'''
