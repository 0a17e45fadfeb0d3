"""How all plots look. Okabe and Ito's colours, which the colour-blind can tell apart, and markers
besides, which print tells apart (Okabe and Ito 2008, Color Universal Design)."""

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
# Blue, vermilion, green, purple, orange, sky blue, black; yellow is lost on white.
HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
FAMILY = "zoo-sans"  # DejaVu Sans, in the very version that ships with matplotlib
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
    "text.parse_math": False,  # a dollar sign in a name begins no formula
}


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Draw and save in our style, whatever the user's own matplotlib settings are."""
    _own_font()
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        # A script that the font lacks shows as boxes in a PNG; the SVG holds the text itself.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


@functools.cache
def _own_font() -> None:
    """Make the font that ships with matplotlib known by a name that no other font has."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"):
        entry = font_manager.ttfFontProperty(font_manager.get_font(str(folder / name)))
        font_manager.fontManager.ttflist.append(dataclasses.replace(entry, name=FAMILY))
