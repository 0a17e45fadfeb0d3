"""Checks that queries and context each keep their own padding and positions."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close
from zoo.conformance.attention import AttentionSetup, attend
from zoo.conformance.check import check
from zoo.conformance.setup import BATCH, DIM, padded_mask, with_garbage

LENGTH, START = 6, 1


@check("attention", needs="cross padding")
def both_padded(setup: AttentionSetup) -> None:
    """Where x and context are both padded, as long or not, each keeps its own padding."""
    module = setup.build()
    position, x = setup.encoding(module), setup.normal(BATCH, LENGTH, DIM)
    real = padded_mask(LENGTH)  # 6, 3 and 1 tokens
    queries = Tokens(real, torch.arange(LENGTH) + START)
    for length in (LENGTH, LENGTH + 3):
        context = setup.normal(BATCH, length, DIM, seed=1)
        seen = torch.arange(length) < torch.tensor([[5], [length], [length - 1]])
        keys = Tokens(seen, torch.arange(length))
        dirty = with_garbage(x, real), with_garbage(context, seen)
        out = attend(module, dirty[0], queries, dirty[1], keys, position=position)
        for text in range(BATCH):
            kept, its = real[text], seen[text]
            expected = attend(
                module,
                x[text : text + 1, kept],
                Tokens(None, queries.positions[kept]),
                context[text : text + 1, its],
                Tokens(None, keys.positions[its]),
                position=position,
            )
            what = f"text {text}, context of {length} for {LENGTH} queries"
            close(out[text, kept], expected[0], f"{what}: padded against unpadded")


@check("attention", needs="cross")
def both_positions(setup: AttentionSetup) -> None:
    """Queries keep their positions and keys theirs: each may come in any order."""
    module = setup.build()
    position, x = setup.encoding(module), setup.normal(BATCH, LENGTH, DIM)
    context = setup.normal(BATCH, LENGTH, DIM, seed=1)
    queries = Tokens(None, torch.arange(LENGTH) + START)
    keys = Tokens(None, 2 * torch.arange(LENGTH))
    turned = [Tokens(None, tokens.positions.flip(0)) for tokens in (queries, keys)]

    def call(x: Tensor, queries: Tokens, context: Tensor, keys: Tokens) -> Tensor:
        return attend(module, x, queries, context, keys, position=position)

    out = call(x, queries, context, keys)
    again = call(x.flip(1), turned[0], context, keys).flip(1)
    close(again, out, "queries in the opposite order, with their positions")
    if not setup.can("order"):
        again = call(x, queries, context.flip(1), turned[1])
        close(again, out, "a context in the opposite order, with its positions")
