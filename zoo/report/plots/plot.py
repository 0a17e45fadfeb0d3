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
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, MUTED, RULE, PAPER = "#1b1f24", "#5b636d", "#d0d4d9", "#ffffff"
# Blue, vermilion, green, purple, orange, sky blue, black; without yellow, pale on white.
HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
# The same colours on a dark ground.
DARK = {INK: "#e6e9ed", MUTED: "#a2abb5", RULE: "#3a424b", PAPER: "#14181d"} | dict(
    zip(
        HUES,
        ("#4aa8e8", "#f58549", "#35c99b", "#dd9fc2", "#f0b638", "#8fd0f5", "#e6e9ed"),
        strict=True,
    )
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
FAMILY = "zoo-sans"  # the DejaVu Sans that ships with matplotlib
# On a screen of 390 pixels a plot of WIDTH inches is as wide as the screen, and SMALL, the smallest
# size of its text in points, is 11.4 pixels there.
WIDTH, SMALL = 4.5, 9.5

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


# Attributes of style in the SVG name the light colours, for programs that know no media queries.
_DARK_RULES = " ".join(
    f'[style*="{kind}: {light}"] {{ {kind}: {dark} !important }}'
    for light, dark in DARK.items()
    for kind in ("fill", "stroke")
)
_DARK_MODE = f"@media screen and (prefers-color-scheme: dark) {{ {_DARK_RULES} }}"
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


def turn_long_labels(axes: Axes, room: int = 38) -> None:
    """Write the labels of the horizontal axis at a slant if they have more characters than that."""
    labels = axes.get_xticklabels()
    if max((len(label.get_text()) for label in labels), default=0) * len(labels) > room:
        for label in labels:
            label.set(rotation=40, ha="right", rotation_mode="anchor")


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
            element.set("class", "mark")
            if row := re.match(r"row-(\d+)", identity):
                element.set("data-row", row[1])
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
    _child(root, "style", _DARK_MODE)
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
