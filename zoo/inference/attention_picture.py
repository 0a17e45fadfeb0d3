"""Attention maps as heat maps: PNG or SVG, drawn without a display."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zoo.errors import ZooError
from zoo.inference.attention_map import View

CELL, LEAST, MOST = 0.3, 2.5, 30.0  # inches: of a token, and of a whole map at least and at most
COLUMNS = 4


def write_picture(file: Path, tokens: Sequence[str], shown: Sequence[View], title: str) -> None:
    """Draw the maps in a grid with one colour scale from 0, as PNG or SVG by the file's suffix.

    The same maps give the same file. Raises ZooError where it cannot be written.
    """
    columns = min(COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    side = min(MOST, max(LEAST, CELL * len(tokens)))
    figure = Figure(figsize=(columns * (side + 1.2) + 0.6, rows * (side + 1.2)), dpi=120)
    figure.set_layout_engine("constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    image, most = None, max(float(view.weights.max()) for view in shown)
    for axes, view in zip(grid.flat, shown, strict=False):
        image = axes.imshow(view.weights, vmin=0.0, vmax=most, cmap="viridis")
        _label(axes, tokens, view.title)
    for axes in list(grid.flat)[len(shown) :]:
        axes.set_axis_off()
    assert image is not None
    figure.colorbar(image, ax=grid, shrink=0.8, label="attention weight")
    figure.suptitle(title, fontsize=9).set_parse_math(False)
    metadata = {"Date": None} if file.suffix.lower() == ".svg" else {"Software": None}
    with (
        warnings.catch_warnings(),
        matplotlib.rc_context({"svg.hashsalt": "encoder-zoo", "svg.fonttype": "none"}),
    ):
        # Letters that the font lacks are drawn as boxes in a PNG; an SVG has the text itself.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        try:
            figure.savefig(file, format=file.suffix.lower().removeprefix("."), metadata=metadata)
        except OSError as error:
            raise ZooError(f"cannot write to {file}: {error.strerror}") from error


def _label(axes: Axes, tokens: Sequence[str], title: str) -> None:
    axes.set_title(title, fontsize=9)
    size = 8 if len(tokens) * CELL <= MOST else 8 * MOST / (len(tokens) * CELL)
    places = range(len(tokens))
    axes.set_xticks(places, tokens, rotation=90, fontsize=size)
    axes.set_yticks(places, tokens, fontsize=size)
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set_parse_math(False)  # a token may be a dollar sign
    axes.set_xlabel("key", fontsize=8)
    axes.set_ylabel("query", fontsize=8)
