"""A finished plot: a PNG, and an SVG in which every mark has the name of its row."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import re
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

INK, MUTED, RULE, PAPER = "#1b1f24", "#5b636d", "#d0d4d9", "#ffffff"
# Blue, vermilion, green, purple, orange, sky blue, black; without yellow, pale on white.
HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
FAMILY = "zoo-sans"  # the DejaVu Sans that ships with matplotlib
# Inches of a plot, and points of its smallest text.
WIDTH, SMALL = 4.5, 9.5
NUMBERS = StrMethodFormatter("{x:,g}")

_SETTINGS: dict[Any, Any] = {
    "font.family": FAMILY,
    "font.size": 10,
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


_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_FONTS = "'DejaVu Sans', Verdana, sans-serif"
ElementTree.register_namespace("", _SVG)
ElementTree.register_namespace("xlink", _LINK)


@dataclass(frozen=True)
class Plot:
    """name: of its files. title: what it shows. about: how to read it, in sentences."""

    name: str
    title: str
    about: str
    svg: str
    png: bytes


def finish(name: str, title: str, about: str, figure: Figure, marks: Mapping[str, str]) -> Plot:
    """Draw a figure; marks: the gid of an artist to its description.

    A gid is ``row-3``, or ``row-3-`` and anything, for what belongs to row 3 of the table.
    """
    png, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", metadata={"Software": None})
    figure.savefig(svg, format="svg", metadata={"Date": None})
    return Plot(
        name, title, about, _described(svg.getvalue(), name, title, about, marks), png.getvalue()
    )


def _described(svg: bytes, name: str, title: str, about: str, marks: Mapping[str, str]) -> str:
    """The SVG with a title, ids that are unique on a page, and a title on every mark."""
    root = ElementTree.fromstring(svg)
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    for element in root.iter():
        identity = element.get("id", "")
        if identity in marks:
            _child(element, "title", marks[identity])
        for key, value in element.items():
            if key == "id":
                element.set(key, f"{name}-{value}")
            elif key == f"{{{_LINK}}}href":
                element.set(key, value.replace("#", f"#{name}-", 1))
            elif "url(#" in value:
                element.set(key, value.replace("url(#", f"url(#{name}-"))
            elif FAMILY in value:
                element.set(key, re.sub(f"'?{FAMILY}'?", _FONTS, value))
    _child(root, "desc", about, f"{name}-about")
    _child(root, "title", title, f"{name}-title")
    labels = {"aria-labelledby": f"{name}-title", "aria-describedby": f"{name}-about"}
    root.attrib.update({"role": "group"} | labels)
    return ElementTree.tostring(root, encoding="unicode")


def _child(element: ElementTree.Element, tag: str, text: str, identity: str = "") -> None:
    """Insert an element with a text before all others."""
    child = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": identity} if identity else {})
    child.text = text
    element.insert(0, child)
