"""Loading data, encoding them as token ids, and batching them.

A component of kind ``data`` is a factory ``load(**parameters)`` with the parameters that it
registers. It declares what it holds, by exactly one capability, and returns the class that belongs
to it: ``text-labels`` a ``zoo.data.Corpus``, ``token-labels`` a ``TaggedCorpus``, ``pairs`` a
``Pairs``, ``text`` a ``Texts``. It returns the same data for the same parameters on every machine,
and raises ZooError where they cannot be loaded.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.data.sources.corpus import Corpus, Examples, Pairs, TaggedCorpus, Texts
from zoo.registry.declarations import hookimpl

if TYPE_CHECKING:
    from zoo.registry import Register

__all__ = ["Corpus", "Examples", "Pairs", "TaggedCorpus", "Texts", "zoo_register"]


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in data sets, which ``built_in.toml`` describes."""
    file = Path(__file__).with_name("built_in.toml")
    for name, described in tomllib.loads(file.read_text(encoding="utf-8")).items():
        streamed = ("streamed",) if described.get("streamed") else ()
        register(
            "data",
            name,
            f"zoo.data.sources.{described['factory']}",
            summary=described["summary"],
            source=described.get("source", ""),
            capabilities=(described["holds"], *streamed),
            parameters=described.get("parameters", {}),
            recipe=described.get("recipe"),
        )
