"""What the built site must not have: anything from another host, and pictures that are missing."""

from __future__ import annotations

import re
from pathlib import Path

from bench.docs.place import SITE
from zoo.errors import ZooError

# What a browser would fetch from another host.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=["']?(?:https?:)?//[^\s"'>]*"""
    r"""|<link\b(?![^>]*rel=["']?(?:canonical|next|prev))[^>]*\bhref=["']?(?:https?:)?//[^\s"'>]*"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//[^\s"')]*"""
)


def check_site(site: Path = SITE) -> None:
    """ZooError where a page would load anything from another host, or a picture is not there."""
    for file in site.rglob("*.html"):
        text = file.read_text("utf-8")
        where = file.relative_to(site)
        if found := LOADED.search(text):
            raise ZooError(f"{where} loads from elsewhere: {found[0]}")
        for source in re.findall(r"""<img\b[^>]*\bsrc=["']?([^\s"'>#]+)""", text):
            if not source.startswith("data:") and not (file.parent / source).exists():
                raise ZooError(f"{where} shows {source}, which is not there")
