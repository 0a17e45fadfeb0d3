"""Attention maps as files: heat maps in PNG or SVG, or one HTML page with details on hover."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import ZooError
from zoo.inference.attention_map import AttentionMap, View

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CELL, LEAST, MOST = 0.3, 2.5, 20.0  # inches: of a token, and of a whole map at least and at most
LABEL = 0.17  # inches: from one label to the next at least
COLUMNS = 4
DIGITS = 4  # of a weight in a page, so that it stays small


def write_map(file: Path, attention_map: AttentionMap, shown: Sequence[View], title: str) -> None:
    """Write a page of every layer and head to an .html file, or a picture of the views shown.

    The same map gives the same file. Raises ZooError where it cannot be written.
    """
    try:
        if file.suffix.lower() == ".html":
            file.write_text(render_page(attention_map, title), encoding="utf-8")
        else:
            write_picture(file, attention_map.tokens, shown, _title(attention_map, title))
    except OSError as error:
        raise ZooError(f"cannot write to {file}: {error.strerror}") from error


def render_page(attention_map: AttentionMap, title: str) -> str:
    """The page of every layer and head, and of the mean over heads; it needs no other file.

    Markup in the tokens is escaped.
    """
    from zoo.report.html.report_page import page_environment

    by_layer = attention_map.by_layer.values()
    rounded = {
        "mean": [_rounded(weights.mean(axis=0)) for weights in by_layer],
        "heads": [_rounded(weights) for weights in by_layer],
    }
    page: str = (
        page_environment("zoo.inference")
        .get_template("attention.html")
        .render(
            title=f"Attention: {attention_map.text}",
            model=title,
            predicted=attention_map.predicted,
            cut=attention_map.cut,
            missing=attention_map.missing,
            data={
                "tokens": attention_map.tokens,
                "layers": list(attention_map.by_layer),
                **rounded,
            },
        )
    )
    return page


def _title(attention_map: AttentionMap, title: str) -> str:
    return f"{title}; predicted: {attention_map.predicted}" if attention_map.predicted else title


def _rounded(weights: npt.NDArray[np.float32]) -> Any:
    return weights.astype(float).round(DIGITS).tolist()


def write_picture(file: Path, tokens: Sequence[str], shown: Sequence[View], title: str) -> None:
    """Draw the views in a grid with one colour scale from 0, as PNG or SVG by the file's suffix.

    Of a long text, as many tokens are named as there is room for in letters of readable size. Needs
    no display. Raises OSError where the file cannot be written.
    """
    from matplotlib.figure import Figure

    from zoo.report.plots.plot import finish, styled
    from zoo.report.tables.text import plain

    columns = min(COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    side = min(MOST, max(LEAST, CELL * len(tokens)))
    every = math.ceil(LABEL * len(tokens) / side)
    most = max(float(view.weights.max()) for view in shown)
    with styled():
        figure = Figure(figsize=(columns * (side + 1.2) + 0.6, rows * (side + 1.2)))
        figure.set_layout_engine("compressed", h_pad=0.1)
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, view in zip(grid.flat, shown, strict=False):
            image = axes.imshow(view.weights, vmin=0.0, vmax=most, cmap="viridis")
            axes.set(title=view.title, xlabel="key", ylabel="query")
            named = range(0, len(tokens), every)
            axes.set_xticks(named, tokens[::every], rotation=90)
            axes.set_yticks(named, tokens[::every])
            axes.grid(visible=False)
        for axes in list(grid.flat)[len(shown) :]:
            axes.set_axis_off()
        figure.colorbar(image, ax=grid, shrink=0.8, label="attention weight")
        figure.suptitle(textwrap.fill(plain(title), max(30, int(12 * columns * side))))
        about = "Each row is a query, each column a key; the weights of a row sum to one."
        plot = finish("attention", title, about, figure, {})
    if file.suffix.lower() == ".png":
        file.write_bytes(plot.png)
    else:
        file.write_text(plot.svg, encoding="utf-8")
