"""Selective copying: symbols scattered among blanks are to be written again, in their order.

"blank s3 blank s1 copy copy" has the tags s3 and s1 on its last two tokens and none elsewhere.
Source: Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures" (MAD), selective
copying, scaled down: there texts have 256 tokens with 16 to copy of a vocabulary of 16, and 12,800
training texts; here 64 tokens, 8 to copy, 8 symbols and 4,000 texts.
"""

from __future__ import annotations

from typing import Any

from zoo.data.sources.corpus import TaggedCorpus
from zoo.data.sources.diagnostics.drawing import Draw, Tagged, tagged_corpus
from zoo.errors import ZooError

BLANK, SLOT = "blank", "copy"


def load(*, items: int = 8, symbols: int = 8, length: int = 64, **sizes: Any) -> TaggedCorpus:
    """The corpus of that seed; sizes are as ``drawing`` says, and longer texts have more blanks.

    items: symbols of a text to copy. symbols: different ones. Raises ZooError for impossible sizes.
    """
    if items < 1 or symbols < 2:
        raise ZooError(
            f"selective-copy needs items >= 1 and symbols >= 2, not {items} and {symbols}"
        )
    names = [f"s{symbol}" for symbol in range(symbols)]

    def draw_text(draw: Draw, length: int) -> Tagged:
        tokens = [BLANK] * (length - items)
        copied = [draw.pick(names) for _ in range(items)]
        for place, symbol in zip(
            sorted(draw.sample(range(len(tokens)), items)), copied, strict=True
        ):
            tokens[place] = symbol
        return [*tokens, *[SLOT] * items], [*[""] * len(tokens), *copied]

    sizes |= {"shortest": 2 * items, "length": length}
    return tagged_corpus("selective-copy", draw_text, names, **sizes)
