"""The style of all plots, and a finished plot as PNG and SVG."""

from __future__ import annotations

import contextlib
import io
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from matplotlib import style
from matplotlib.figure import Figure

INK, MUTED, RULE, PAPER = "#1b1f24", "#5b636d", "#d0d4d9", "#ffffff"
# Blue, vermilion, green, purple, orange, sky blue, black; without yellow, pale on white.
HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
NAMED, NAME = 6, 140  # rows in a legend, the reference first; characters of a name
# Characters of names that have room beside each other, and of a line of longer ones.
SHORT, LINE = 22, 46
LEGEND_LINE = 0.22  # inches of a line of a legend
# Inches of a plot, and points of its smallest text.
WIDTH, SMALL = 4.5, 9.5

_SETTINGS: dict[str, Any] = {
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
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
    "legend.fontsize": SMALL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "savefig.dpi": 160,
    "svg.fonttype": "none",
    "svg.hashsalt": "encoder-zoo",
    "path.simplify": False,
    "text.parse_math": False,  # a dollar sign in a name does not start a formula
}


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Draw and save in this style, whatever the user's own matplotlib settings are."""
    with style.context(["default", _SETTINGS]), warnings.catch_warnings():
        # Letters that the font lacks are boxes in a PNG; the SVG contains the text itself.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


@dataclass(frozen=True)
class Plot:
    """name: of its files. title: what it shows. about: how to read it, in sentences."""

    name: str
    title: str
    about: str
    svg: str
    png: bytes


def add_legend(figure: Figure) -> None:
    """Name the lines of the first panel below the plot, which grows by as much as they need."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    columns = 2 if max(map(len, labels)) <= SHORT else 1
    names = [textwrap.fill(label, LINE) for label in labels]
    lines = "\n".join(names).count("\n") + 1
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * lines / columns)
    figure.legend(handles, names, loc="outside lower center", ncols=columns)


def finish(name: str, title: str, about: str, figure: Figure) -> Plot:
    """Draw a figure. Several SVGs may stand on one page: their ids begin with the plot's name."""
    png, svg = io.BytesIO(), io.StringIO()
    figure.savefig(png, format="png", metadata={"Software": None})
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(svg, format="svg", metadata=nothing)
    drawn = svg.getvalue()
    drawn = drawn[drawn.index("<svg") :]  # a page has no place for the head of an XML file
    drawn = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{name}-", drawn)
    opening, _, rest = drawn.partition(">")
    described = f"<title>{escape(title)}</title><desc>{escape(about)}</desc>"
    return Plot(name, title, about, f"{opening}>\n {described}{rest}", png.getvalue())
