"""Text classification that stops at a level of loss.

Planning imports this module, so torch is imported for the types alone, or within a method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, NonNegativeFloat

from zoo.registry.declarations import part
from zoo.tasks.classify import Classify, ClassifyOptions

if TYPE_CHECKING:
    from torch import Tensor, nn

    from zoo.tasks.base import TaskSetup


class Options(ClassifyOptions):
    """Those of text classification, and one more, which `zoo bench` and records then have."""

    flood: NonNegativeFloat = Field(
        default=0.05, description="Training loss that is not gone below, in nats; 0: no limit."
    )


@part("task", "my-task", source="Ishida et al. 2020, Do We Need Zero Training Loss, equation 5")
class MyTask(Classify):
    """Text classification that stops at a level of loss."""

    options = Options
    metrics = ("macro_f1", "accuracy")  # the first ranks the rows

    def loss(self, setup: TaskSetup, model: nn.Module, batch: Any) -> tuple[Tensor, Tensor]:
        """|loss - flood| + flood of a batch, and how many of its texts were right."""
        loss, right = super().loss(setup, model, batch)
        return (loss - setup.options.flood).abs() + setup.options.flood, right
