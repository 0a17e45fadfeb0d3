"""The style of all plots: Okabe and Ito's colours, which colour-blind readers can distinguish
(Okabe and Ito 2008, Color Universal Design), and markers, which remain in black and white."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import font_manager

INK, MUTED, RULE, PAPER = "#1b1f24", "#5b636d", "#d0d4d9", "#ffffff"
# Blue, vermilion, green, purple, orange, sky blue, black; without yellow, pale on white.
HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
FAMILY = "zoo-sans"  # the DejaVu Sans that ships with matplotlib
WIDTH = 6.4  # inches

_SETTINGS: dict[Any, Any] = {
    "font.family": FAMILY,
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.facecolor": PAPER,
    "savefig.dpi": 160,
    "svg.fonttype": "none",
    "svg.hashsalt": "encoder-zoo",
    "path.simplify": False,
    "text.parse_math": False,  # a dollar sign in a name does not start a formula
}


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Draw and save in this style, whatever the user's own matplotlib settings are."""
    _own_font()
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        # Letters that the font lacks are boxes in a PNG; the SVG contains the text itself.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


@functools.cache
def _own_font() -> None:
    """Register the font that ships with matplotlib under a name that no other font has."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"):
        entry = font_manager.ttfFontProperty(font_manager.get_font(str(folder / name)))
        font_manager.fontManager.ttflist.append(dataclasses.replace(entry, name=FAMILY))
