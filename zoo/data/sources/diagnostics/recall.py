"""Tasks on tokens that ask for what stands earlier in the text; other tokens have no tag.

Sources: Arora et al. 2024, "Zoology: Measuring and Improving Recall in Efficient Language Models"
(``recall``); Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures" (MAD),
scaled down: there texts have 128 tokens (selective copying: 256) of a vocabulary of 16 and 12,800
training texts; here 64 tokens and 4,000 texts. Sizes are as ``drawing`` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zoo.data.sources.corpus import TaggedCorpus
from zoo.data.sources.diagnostics.drawing import Draw, Tagged, drawn, need
from zoo.errors import ZooError

KEYS, NOISE = 16, [f"n{number}" for number in range(8)]


def recall(*, pairs: int = 32, values: int = 8, test_length: int = 0, **sizes: Any) -> TaggedCorpus:
    """Stacked associative recall: every token holds a key and its value, then keys are queried.

    "k3=v1 k0=v5 k0? k3?" has the tags v5 and v1 on its queries. With key and value in one token
    ("stacked") a single layer can find them; in the source, where they are two, texts have 64 to
    512 tokens. pairs: keys of a training text, which has twice as many tokens. values: different
    values of a key. test_length: more tokens have more keys, and training texts then have ``pairs``
    of these. Raises ZooError for impossible sizes.
    """
    need("recall", pairs=(pairs, 1), values=(values, 2))
    keys, names = range(max(pairs, test_length // 2)), _names("v", values)

    def draw_text(draw: Draw, length: int) -> Tagged:
        held = {key: draw.pick(names) for key in draw.sample(keys, length // 2)}
        queries = draw.shuffled(list(held))
        return _queried([f"k{key}={value}" for key, value in held.items()], held, queries)

    sizes |= {"shortest": 2 * pairs, "length": 2 * pairs, "step": 2, "test_length": test_length}
    return drawn(TaggedCorpus, "recall", draw_text, names, **sizes)


def noisy_recall(
    *, pairs: int = 8, values: int = 8, length: int = 64, **sizes: Any
) -> TaggedCorpus:
    """Noisy recall: keys, each followed by its value, among noise; then every key is queried.

    "n4 k3 v1 n0 k0 v5 k0? k3?" has the tags v5 and v1 on its queries. The source has 16 noise
    tokens, this 8. pairs: keys of a text, of 16. values: different values of a key. Longer texts
    have more noise. Raises ZooError for impossible sizes.
    """
    need("noisy-recall", pairs=(pairs, 1), values=(values, 2))
    if pairs > KEYS:
        raise ZooError(f"noisy-recall needs pairs <= {KEYS}, not {pairs}")
    names = _names("v", values)

    def draw_text(draw: Draw, length: int) -> Tagged:
        held = {key: draw.pick(names) for key in draw.sample(range(KEYS), pairs)}
        pieces: list[list[str]] = [[f"k{key}", value] for key, value in held.items()]
        pieces += [[draw.pick(NOISE)] for _ in range(length - 3 * pairs)]
        tokens = [token for piece in draw.shuffled(pieces) for token in piece]
        return _queried(tokens, held, draw.shuffled(list(held)))

    sizes |= {"shortest": 3 * pairs, "length": length}
    return drawn(TaggedCorpus, "noisy-recall", draw_text, names, **sizes)


def selective_copy(
    *, items: int = 8, symbols: int = 8, length: int = 64, **sizes: Any
) -> TaggedCorpus:
    """Selective copying: symbols scattered among blanks are to be written again, in their order.

    "blank s3 blank s1 copy copy" has the tags s3 and s1 on its last two tokens. The source copies
    16 symbols. items: symbols of a text to copy. symbols: different ones. Longer texts have more
    blanks. Raises ZooError for impossible sizes.
    """
    need("selective-copy", items=(items, 1), symbols=(symbols, 2))
    names = _names("s", symbols)

    def draw_text(draw: Draw, length: int) -> Tagged:
        tokens = ["blank"] * (length - items)
        copied = [draw.pick(names) for _ in range(items)]
        places = sorted(draw.sample(range(len(tokens)), items))
        for place, symbol in zip(places, copied, strict=True):
            tokens[place] = symbol
        return [*tokens, *["copy"] * items], [*[""] * len(tokens), *copied]

    sizes |= {"shortest": 2 * items, "length": length}
    return drawn(TaggedCorpus, "selective-copy", draw_text, names, **sizes)


def _names(letter: str, number: int) -> list[str]:
    return [f"{letter}{each}" for each in range(number)]


def _queried(tokens: list[str], held: dict[int, str], keys: Sequence[int]) -> Tagged:
    """The tokens and then a query of each key, whose tag is its value."""
    tags = [*[""] * len(tokens), *(held[key] for key in keys)]
    return [*tokens, *(f"k{key}?" for key in keys)], tags
