"""Sentences of reports: templates in ``words``, a paragraph for each, with what fills them."""

from __future__ import annotations

import functools
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from zoo.errors import counted, listed
from zoo.report.stats.ratios import CONTENDED, MEMORY_TIE, UNDECIDED
from zoo.report.tables.text import ends, from_to, percent, plain


@functools.cache
def words(name: str) -> Template:
    """A template of sentences. What is filled in is on one line, whatever it contains."""
    made = Environment(
        loader=PackageLoader("zoo.report.tables", "words"),
        autoescape=True,  # so that what a macro returns, Markup, is told from a value
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda v: Markup(plain(v)) if type(v) is str else v,
    )
    made.globals |= {
        "counted": counted,
        "ends": ends,
        "from_to": from_to,
        "listed": listed,
        "percent": percent,
        "plain": plain,
        "MEMORY_TIE": MEMORY_TIE,
        "UNDECIDED": UNDECIDED,
        "CONTENDED": CONTENDED,
    }
    return made.get_template(f"{name}.txt")


def paragraphs(text: str) -> list[str]:
    """Those of a text, which empty lines separate, each on one line."""
    return [line for part in text.split("\n\n") if (line := " ".join(part.split()))]


def said(name: str, **values: Any) -> list[str]:
    """The paragraphs of a template with these values filled in."""
    return paragraphs(words(name).render(values))
