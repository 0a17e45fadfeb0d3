"""Fuzzy recall: keys and values of one to three tokens each; then every key is queried.

Each query is the tokens of a key and a ``?`` for every token of its value,
whose tag is that token: "k0 k2 v5 v1 k3 v0 k3 ? k0 k2 ? ?" has the tags v0, v5 and v1. Source: Poli
et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures" (MAD), fuzzy in-context
recall, scaled down: there texts have 128 tokens of a vocabulary of 16 and 12,800 training texts;
here 64 tokens, 8 tokens each for keys and values, and 4,000 texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zoo.data.sources.corpus import TaggedCorpus
from zoo.data.sources.diagnostics.drawing import Draw, Tagged, tagged_corpus
from zoo.errors import ZooError

KEY_TOKENS = [f"k{number}" for number in range(8)]
SLOT = "?"
MOST_TOKENS = 3  # of a key or a value


def load(*, values: int = 8, length: int = 64, **sizes: Any) -> TaggedCorpus:
    """The corpus of that seed; sizes are as ``drawing`` says, and longer texts have more pairs.

    values: different tokens of values. Raises ZooError for impossible sizes.
    """
    if values < 2:
        raise ZooError(f"fuzzy-recall needs values >= 2, not {values}")
    names = [f"v{value}" for value in range(values)]

    def draw_text(draw: Draw, length: int) -> Tagged:
        held: dict[tuple[str, ...], tuple[str, ...]] = {}
        room = length
        while True:
            key, value = _motif(draw, KEY_TOKENS), _motif(draw, names)
            room -= 2 * (len(key) + len(value))
            if room < 0:
                break
            if key in held:
                room += 2 * (len(key) + len(value))
                continue
            held[key] = value
        tokens = [token for pair in held.items() for motif in pair for token in motif]
        tags = [""] * len(tokens)
        for key in draw.shuffled(list(held)):
            tokens += [*key, *[SLOT] * len(held[key])]
            tags += [*[""] * len(key), *held[key]]
        return tokens, tags

    return tagged_corpus(
        "fuzzy-recall", draw_text, names, shortest=4 * MOST_TOKENS, length=length, **sizes
    )


def _motif(draw: Draw, tokens: Sequence[str]) -> tuple[str, ...]:
    return tuple(draw.pick(tokens) for _ in range(1 + draw.below(MOST_TOKENS)))
