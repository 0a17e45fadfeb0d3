"""Stacked associative recall: every token holds a key and its value, then every key is queried.

"k3=v1 k0=v5 k0? k3?" has the tags v5 and v1 on its queries and none elsewhere. Source: Arora et
al. 2024, "Zoology: Measuring and Improving Recall in Efficient Language Models" (multi-query
associative recall), with key and value in one token ("stacked"), so that a single layer can find
them; there texts have 64 to 512 tokens.
"""

from __future__ import annotations

from typing import Any

from zoo.data.sources.corpus import TaggedCorpus
from zoo.data.sources.diagnostics.drawing import Draw, Tagged, tagged_corpus
from zoo.errors import ZooError


def load(*, pairs: int = 32, values: int = 8, test_length: int = 0, **sizes: Any) -> TaggedCorpus:
    """The corpus of that seed.

    pairs: keys of a training text, which has twice as many tokens. values: different values of a
    key. test_length: as ``drawing`` says; more tokens have more keys, and training texts then have
    ``pairs`` of these. Raises ZooError for impossible sizes.
    """
    if pairs < 1 or values < 2:
        raise ZooError(f"recall needs pairs >= 1 and values >= 2, not {pairs} and {values}")
    keys = range(max(pairs, test_length // 2))
    names = [f"v{value}" for value in range(values)]

    def draw_text(draw: Draw, length: int) -> Tagged:
        held = {key: draw.pick(names) for key in draw.sample(keys, length // 2)}
        queries = draw.shuffled(list(held))
        tokens = [f"k{key}={value}" for key, value in held.items()]
        tags = [*([""] * len(held)), *(held[key] for key in queries)]
        return [*tokens, *(f"k{key}?" for key in queries)], tags

    sizes |= {"shortest": 2 * pairs, "length": 2 * pairs, "step": 2, "test_length": test_length}
    return tagged_corpus("recall", draw_text, names, **sizes)
