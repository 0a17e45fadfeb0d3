"""Labels next to points, where there is room for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from zoo.report.plots.plot import PAPER, SMALL

Point = tuple[float, float]
Boxes = NDArray[np.float64]  # (boxes, 4): left, lower, right and upper end, in pixels
Side = Literal["left", "center", "right"]
Place = tuple[float, float, Side]
# Offset in points and alignment of the text, the most readable places first.
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
    """Write each name next to its point, away from other names and as far as possible from marks.

    Limits and layout of the axes must be final. The most important names come first; one that has
    no room without covering another name, or outside the axes, is left out.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # labels must not change the layout
    taken = [
        Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in axes.transData.transform(list(points))
    ]
    taken += [Bbox(axes.transData.transform(ends)).padded(1) for ends in bars]
    inside = axes.get_window_extent()
    marks, names = _boxes(taken), [text.get_window_extent() for text in axes.texts]
    for point, name in named:
        label = axes.annotate(
            name,
            point,
            xytext=(7, 7),
            textcoords="offset points",
            fontsize=SMALL,
            bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3},
        )
        others = _boxes(names)
        costs = [_cost(label, place, marks, others, inside) for place in _PLACES]
        box = _extent(label, _PLACES[costs.index(min(costs))])
        if _shared(box, others) or _outside(box, inside):
            label.remove()
        else:
            names.append(box)


def _extent(label: Annotation, place: Place) -> Bbox:
    dx, dy, side = place
    label.xyann = (dx, dy)
    label.set_horizontalalignment(side)
    label.set_verticalalignment("bottom" if dy > 0 else "top")
    label.get_window_extent()  # moves the text to its place
    return Text.get_window_extent(label)  # without the line to the point


def _cost(label: Annotation, place: Place, taken: Boxes, names: Boxes, inside: Bbox) -> float:
    box, distance = _extent(label, place), math.hypot(*place[:2])
    outside = _outside(box, inside)
    over_names, over_points = _shared(box.padded(2), names), _shared(box, taken)
    return 10 * outside + 10 * over_names + over_points + 4 * distance


def _outside(box: Bbox, inside: Bbox) -> float:
    """The area of a box that is not in another one, in square pixels; less than one counts as 0."""
    area = float(box.width * box.height) - _shared(box, _boxes([inside]))
    return area if area > 1 else 0.0


def _shared(box: Bbox, others: Boxes) -> float:
    """The area of a box that others cover, in square pixels."""
    width = np.minimum(box.x1, others[:, 2]) - np.maximum(box.x0, others[:, 0])
    height = np.minimum(box.y1, others[:, 3]) - np.maximum(box.y0, others[:, 1])
    return float((width.clip(0) * height.clip(0)).sum())


def _boxes(found: Sequence[Bbox]) -> Boxes:
    return np.array([box.extents for box in found], dtype=float).reshape(-1, 4)
