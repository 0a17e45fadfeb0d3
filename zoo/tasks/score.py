"""Which numbers tell how good a model is at its task, and which way is up. No torch here."""

from __future__ import annotations

import math
from dataclasses import dataclass

from zoo.errors import ZooError, nearest


@dataclass(frozen=True)
class Score:
    """One number of a trial's metrics.

    name: its key there, and what the columns of table.csv begin with. label: as a person reads
    it. form: how a value is written. unit, scale, change: differences times ``scale`` are told in
    this unit, written so. lowest, highest: what no true value lies beyond. of: what is scored.
    """

    name: str
    label: str
    higher_is_better: bool = True
    form: str = "{:.3f}"
    unit: str = "points"
    scale: float = 100.0
    change: str = "{:.1f}"
    lowest: float = 0.0
    highest: float = 1.0
    of: str = "documents"

    @property
    def direction(self) -> int:
        """1 where higher is better, else -1."""
        return 1 if self.higher_is_better else -1

    def better(self, difference: float) -> float:
        """A difference of values as an improvement: above 0 where it is one."""
        return self.direction * difference

    def told(self, difference: float, half: float | None = None) -> str:
        """A difference in the score's unit, with half its interval: ``+0.4 ± 0.3 points``."""
        said = ("+" if difference >= 0 else "-") + self.change.format(self.scale * abs(difference))
        around = "" if half is None else f" ± {self.change.format(self.scale * half)}"
        return f"{said}{around} {self.unit}"


ACCURACY = Score("accuracy", "accuracy")
BITS_PER_BYTE = Score(
    "bits_per_byte",
    "bits/byte",
    False,
    "{:.3f}",
    "bits per byte",
    1.0,
    "{:.3f}",
    0.0,
    math.inf,
    "tokens",
)
EXACT_MATCH = Score("exact_match", "exact match", of="pairs")

CLASSIFY = "classify"
# Of each task the score that its rows are ranked by, and those that stand beside it.
SCORES: dict[str, tuple[Score, ...]] = {
    CLASSIFY: (ACCURACY, Score("f1", "macro F1")),
    "lm": (
        BITS_PER_BYTE,
        Score(
            "validation_loss", "nats/token", False, "{:.3f}", "nats", 1.0, "{:.3f}", 0.0, math.inf
        ),
    ),
    "seq2seq": (
        EXACT_MATCH,
        Score("exact_match_beam", "exact, beam"),
        Score("token_accuracy", "token accuracy"),
    ),
}


def scores_of(task: str) -> tuple[Score, ...]:
    """The scores of a task, the main one first; ZooError where there is no such task."""
    if task not in SCORES:
        raise ZooError(f"no task '{task}'{nearest(task, list(SCORES))}")
    return SCORES[task]
