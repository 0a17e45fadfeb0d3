"""Data sets by name, local files, the tokenizer, and what trials read.

A component of kind ``data`` is a factory ``load(**parameters) -> zoo.data.Corpus``.
Its parameters are those it registers; it raises ZooError where the data cannot be had, and gives
the same corpus for the same parameters on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoo.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from zoo.data.sources.corpus import Corpus
    from zoo.registry import Register

__all__ = ["Corpus", "zoo_register"]


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in data sets."""
    register(
        "data",
        "bbc-news",
        "zoo.data.sources.bbc_news:load",
        summary="2,225 BBC news articles of 2004-2005 in five topics, from the Hugging Face Hub",
        source="Greene and Cunningham, ICML 2006; https://huggingface.co/datasets/SetFit/bbc-news",
    )
    register(
        "data",
        "newswire",
        "zoo.data.sources.newswire:load",
        summary="2,225 news stories in five topics, made up by a seeded grammar; no network",
        parameters={"seed": 0, "train": 1225, "test": 1000},
    )
    register(
        "data",
        "order",
        "zoo.data.sources.diagnostics.order:load",
        summary="a probe of word order: six orders of the same words, a bag of words is at chance",
        parameters={"seed": 0, "train": 6000, "test": 1200, "reach": 8},
    )


def __getattr__(name: str) -> Any:
    """``Corpus``, imported when it is asked for."""
    if name == "Corpus":
        from zoo.data.sources.corpus import Corpus

        return Corpus
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
