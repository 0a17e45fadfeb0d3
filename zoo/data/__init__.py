"""Data sets by name, local files, the tokenizer, and what trials read.

A component of kind ``data`` is a factory ``load(**parameters) -> Corpus`` (``zoo.data.corpus``).
Its parameters are those it registers; it raises ZooError where the data cannot be had, and gives
the same corpus for the same parameters on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.hookspecs import hookimpl

if TYPE_CHECKING:
    from zoo.registry import Register


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in data sets."""
    register(
        "data",
        "bbc-news",
        "zoo.data.bbc_news:load",
        summary="2,225 BBC news articles of 2004-2005 in five topics, from the Hugging Face Hub",
        source="Greene and Cunningham, ICML 2006; https://huggingface.co/datasets/SetFit/bbc-news",
    )
    register(
        "data",
        "newswire",
        "zoo.data.newswire:load",
        summary="2,225 news stories in five topics, made up by a seeded grammar; no network",
        parameters={"seed": 0, "train": 1225, "test": 1000},
    )
    register(
        "data",
        "order",
        "zoo.data.order:load",
        summary="a probe of word order: six orders of the same words, a bag of words is at chance",
        parameters={"seed": 0, "train": 6000, "test": 1200, "reach": 8},
    )
