"""Names beside points, where there is room for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from zoo.report.plots.style import PAPER

Point = tuple[float, float]
Side = Literal["left", "center", "right"]
Place = tuple[float, float, Side]
# Points of offset and how the text stands to them, the places that read best first.
_PLACES: list[Place] = [
    (dx, dy, "left" if dx > 0 else "right" if dx < 0 else "center")
    for far in (7, 14, 24, 36, 52, 70)
    for dx, dy in ((far, far), (far, -far), (-far, far), (-far, -far), (0, far), (0, -far))
]


def place_labels(
    axes: Axes,
    named: Sequence[tuple[Point, str]],
    points: Sequence[Point],
    bars: Sequence[tuple[Point, Point]] = (),
) -> None:
    """Write each name beside its point, over no other name and as few points and bars as can be.

    Limits and layout of the axes must be final; names in the order of their importance.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # what is written now moves nothing
    taken = [
        Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in axes.transData.transform(list(points))
    ]
    taken += [Bbox(axes.transData.transform(ends)).padded(1) for ends in bars]
    inside = axes.get_window_extent()
    names: list[Bbox] = []
    for point, name in named:
        label = axes.annotate(
            name,
            point,
            xytext=(7, 7),
            textcoords="offset points",
            fontsize=8,
            bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3},
        )
        best = min(_PLACES, key=lambda place: _cost(label, place, taken, names, inside))
        names.append(_extent(label, best))


def _extent(label: Annotation, place: Place) -> Bbox:
    dx, dy, side = place
    label.xyann = (dx, dy)
    label.set_horizontalalignment(side)
    label.set_verticalalignment("bottom" if dy > 0 else "top")
    label.get_window_extent()  # moves the words to their place
    return Text.get_window_extent(label)  # without the line to the point


def _cost(
    label: Annotation,
    place: Place,
    taken: Sequence[Bbox],
    names: Sequence[Bbox],
    inside: Bbox,
) -> float:
    box, distance = _extent(label, place), math.hypot(*place[:2])
    outside = box.width * box.height - _shared(box, inside)
    over_names = sum(_shared(box.padded(2), name) for name in names)
    over_points = sum(_shared(box, other) for other in taken)
    return 10 * outside + 10 * over_names + over_points + 4 * distance


def _shared(one: Bbox, other: Bbox) -> float:
    both = Bbox.intersection(one, other)
    return 0.0 if both is None else both.width * both.height
