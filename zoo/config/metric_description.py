"""The description of a metric: what a report needs to know to print and compare its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveFloat

from zoo.config.sizes import Options
from zoo.errors import ZooError, nearest


class MetricDescription(Options):
    """One number that says how good a trained model is.

    name: its key in a record's metrics. label: its name in tables. digits: decimals of a value.
    unit: of differences; a difference times ``scale`` is in this unit, printed with ``unit_digits``
    decimals. lowest, highest: no true value lies outside; None: no such limit. scored: what is
    scored (documents, tokens). paired: it is the share of examples that were right, and the record
    lists those that were wrong, so that two models can be compared example by example.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    label: Annotated[str, Field(min_length=1)]
    higher_is_better: bool = True
    digits: NonNegativeInt = 3
    unit: str = "points"
    scale: PositiveFloat = 100.0
    unit_digits: NonNegativeInt = 1
    lowest: float | None = 0.0
    highest: float | None = 1.0
    scored: str = "documents"
    paired: bool = False

    @property
    def direction(self) -> int:
        """1 where higher is better, else -1."""
        return 1 if self.higher_is_better else -1

    def better(self, difference: float) -> float:
        """A difference of values as an improvement: above 0 where it is one."""
        return self.direction * difference

    def format(self, value: float) -> str:
        """A value as tables print it: ``0.943``."""
        return f"{value:.{self.digits}f}"

    def format_difference(self, difference: float, half_width: float | None = None) -> str:
        """A difference in the metric's unit, with half its interval: ``+0.4 ± 0.3 points``."""
        return f"{'+' if difference >= 0 else '-'}{self.format_size(difference, half_width)}"

    def format_size(self, difference: float, half_width: float | None = None) -> str:
        """The size of a difference, without its sign: ``0.4 ± 0.3 points``."""
        text = f"{abs(self.scale * difference):.{self.unit_digits}f}"
        if half_width is not None:
            text += f" ± {self.scale * half_width:.{self.unit_digits}f}"
        return f"{text} {self.unit}"


def ranked_by(metrics: Sequence[MetricDescription], name: str) -> tuple[MetricDescription, ...]:
    """The metrics with the one of that name first, where it ranks rows; empty: as they are.

    Raises ZooError where there is no such metric.
    """
    known = [metric.name for metric in metrics]
    if name and name not in known:
        raise ZooError(f"--metric {name}: no such metric{nearest(name, known)}")
    # A stable sort: the others keep their order.
    return tuple(sorted(metrics, key=lambda metric: bool(name) and metric.name != name))
