"""Noisy recall: keys, each followed by its value, among noise tokens; then every key is queried.

"n4 k3 v1 n0 k0 v5 k0? k3?" has the tags v5 and v1 on its queries and none elsewhere. Source: Poli
et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures" (MAD), noisy in-context
recall, scaled down: there texts have 128 tokens of a vocabulary of 16, with 16 noise tokens, and
12,800 training texts; here 64 tokens, 8 pairs, 8 noise tokens and 4,000 texts.
"""

from __future__ import annotations

from typing import Any

from zoo.data.sources.corpus import TaggedCorpus
from zoo.data.sources.diagnostics.drawing import Draw, Tagged, tagged_corpus
from zoo.errors import ZooError

KEYS, NOISE = 16, [f"n{number}" for number in range(8)]


def load(*, pairs: int = 8, values: int = 8, length: int = 64, **sizes: Any) -> TaggedCorpus:
    """The corpus of that seed; sizes are as ``drawing`` says, and longer texts have more noise.

    pairs: keys of a text, of 16. values: different values of a key. Raises ZooError for impossible
    sizes.
    """
    if not 1 <= pairs <= KEYS or values < 2:
        raise ZooError(
            f"noisy-recall needs 1 <= pairs <= {KEYS} and values >= 2, not {pairs} and {values}"
        )
    names = [f"v{value}" for value in range(values)]

    def draw_text(draw: Draw, length: int) -> Tagged:
        held = {key: draw.pick(names) for key in draw.sample(range(KEYS), pairs)}
        pieces: list[list[str]] = [[f"k{key}", value] for key, value in held.items()]
        pieces += [[draw.pick(NOISE)] for _ in range(length - 3 * pairs)]
        tokens = [token for piece in draw.shuffled(pieces) for token in piece]
        queries = draw.shuffled(list(held))
        tags = [*([""] * len(tokens)), *(held[key] for key in queries)]
        return [*tokens, *(f"k{key}?" for key in queries)], tags

    return tagged_corpus(
        "noisy-recall", draw_text, names, shortest=3 * pairs, length=length, **sizes
    )
