"""Attention maps as one HTML page with details on hover; it needs no other file and no network."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt
from jinja2 import Environment

from zoo.errors import ZooError
from zoo.inference.attention_map import AttentionMap

DIGITS = 4


def write_page(file: Path, attention_map: AttentionMap, title: str) -> None:
    """Write the page of every layer and head, and of the mean over heads.

    Raises ZooError where the file cannot be written.
    """
    text = render_page(attention_map, title)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ZooError(f"cannot write to {file}: {error.strerror}") from error


def render_page(attention_map: AttentionMap, title: str) -> str:
    """The page as text; markup in the tokens is escaped."""
    template = files("zoo.inference").joinpath("templates", "attention.html").read_text("utf-8")
    data = {
        "tokens": attention_map.tokens,
        "mean": _rounded(attention_map.averaged),
        "heads": _rounded(attention_map.weights),
    }
    page: str = (
        Environment(autoescape=True)
        .from_string(template)
        .render(title=title, text=attention_map.text, cut=attention_map.cut, data=data)
    )
    return page


def _rounded(weights: npt.NDArray[np.float32]) -> object:
    """Nested lists of numbers with few digits, so that a page stays small."""
    return weights.astype(float).round(DIGITS).tolist()
