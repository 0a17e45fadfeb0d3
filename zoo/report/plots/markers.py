"""The colour and marker of a row, which show its choices on two axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.lines import Line2D

from zoo.report.plots.style import HUES, MARKERS, MUTED
from zoo.report.rows import Row
from zoo.report.tables.text import plain


@dataclass(frozen=True)
class MarkerStyle:
    """A colour and a marker."""

    hue: str = HUES[0]
    marker: str = MARKERS[0]


class MarkerStyles:
    """The first axis that varies has the colour, and the second the marker.

    Where the first has more choices than there are colours, both show the first axis.
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

    def of(self, row: Row) -> MarkerStyle:
        """The style of a cell."""
        if not self.axes:
            return MarkerStyle()
        choice = row.cell[self.axes[0]]
        if self.second:
            return MarkerStyle(self.first[choice], self.second[row.cell[self.axes[1]]])
        turn = list(self.first).index(choice) // len(HUES)
        return MarkerStyle(self.first[choice], MARKERS[turn % len(MARKERS)])

    def legend(self) -> list[Line2D]:
        """An entry for every choice, below the name of its axis."""
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
