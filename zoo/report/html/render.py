"""Renders pages from templates: everything is inlined, and text from records is escaped."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ElementTree
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from zoo.report.plots.style import HUES, INK, MUTED, PAPER, RULE
from zoo.report.tables.text import plain

_VARIABLES = {INK: "--ink", MUTED: "--muted", RULE: "--rule", PAPER: "--paper"} | {
    hue: f"--hue-{number}" for number, hue in enumerate(HUES)
}


@functools.cache
def environment() -> Environment:
    """The templates of this package."""
    made = Environment(
        loader=PackageLoader("zoo.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
        keep_trailing_newline=True,
    )
    made.globals["hues"] = list(enumerate(HUES))
    return made


def render(template: str, **values: Any) -> str:
    """A page. Strings are text and escaped; Markup is trusted."""
    return environment().get_template(template).render(**values)


def _clean(value: Any) -> Any:
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def inline_svg(svg: str) -> Markup:
    """A plot's SVG for a page: as wide as possible, in colours that follow dark mode."""
    root = ElementTree.fromstring(svg)
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    for element in root.iter():
        style = element.get("style", "")
        for colour, variable in _VARIABLES.items():
            style = style.replace(f": {colour}", f": var({variable})")
        if style:
            element.set("style", style)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # made by us, with escaped text
