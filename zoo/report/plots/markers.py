"""Which colour and marker a row has: what the components are is told by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.lines import Line2D

from zoo.report.plots.style import HUES, MARKERS, MUTED
from zoo.report.tables.rows import Row
from zoo.report.tables.text import plain


@dataclass(frozen=True)
class Look:
    """A colour and a marker."""

    hue: str = HUES[0]
    marker: str = MARKERS[0]


class Looks:
    """The first axis that varies is told by colour, and the second by marker.

    Where the first has more choices than there are colours, colour and marker are both its own.
    """

    def __init__(self, axes: Mapping[str, Sequence[str]]) -> None:
        self.axes = list(axes)[:2]
        choices = [list(axes[axis]) for axis in self.axes]
        self.first = {c: HUES[i % len(HUES)] for i, c in enumerate(choices[0] if choices else [])}
        both = (
            len(choices) == 2 and len(self.first) <= len(HUES) and len(choices[1]) <= len(MARKERS)
        )
        if not both:
            self.axes = self.axes[:1]
        marked = choices[1] if both else []
        self.second = {choice: MARKERS[i] for i, choice in enumerate(marked)}

    def of(self, row: Row) -> Look:
        """The look of a cell."""
        if not self.axes:
            return Look()
        choice = row.cell[self.axes[0]]
        if self.second:
            return Look(self.first[choice], self.second[row.cell[self.axes[1]]])
        turn = list(self.first).index(choice) // len(HUES)
        return Look(self.first[choice], MARKERS[turn % len(MARKERS)])

    def legend(self) -> list[Line2D]:
        """An entry for every choice, under the name of its axis."""
        entries: list[Line2D] = []
        if self.axes:
            entries.append(_entry(self.axes[0], "none", "none"))
            for number, (choice, hue) in enumerate(self.first.items()):
                turn = 0 if self.second else number // len(HUES)
                entries.append(_entry(choice, hue, MARKERS[turn % len(MARKERS)]))
        if self.second:
            entries.append(_entry(self.axes[1], "none", "none"))
            entries += [_entry(choice, MUTED, marker) for choice, marker in self.second.items()]
        return entries


def _entry(text: str, hue: str, marker: str) -> Line2D:
    return Line2D([], [], color=hue, marker=marker, linestyle="none", label=plain(text, 24))
