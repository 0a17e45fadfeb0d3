"""A finished plot: a PNG, and an SVG in which every mark has the name of its row."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from zoo.report.plots.style import FAMILY

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
    _child(root, "desc", about, f"{name}-about")
    _child(root, "title", title, f"{name}-title")
    root.set("role", "group")
    root.set("aria-labelledby", f"{name}-title")
    root.set("aria-describedby", f"{name}-about")
    return ElementTree.tostring(root, encoding="unicode")


def _child(element: ElementTree.Element, tag: str, text: str, identity: str = "") -> None:
    child = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": identity} if identity else {})
    child.text = text
    element.insert(0, child)
