"""Keys and values from another text, and queries of some positions only."""

from __future__ import annotations

import torch

from zoo.components.tokens import Tokens
from zoo.conformance.assertions import close, differ, finite, must
from zoo.conformance.check import check, needs
from zoo.conformance.setups.attention_setup import LENGTHS, AttentionSetup, attend
from zoo.conformance.setups.setup import BATCH, DIM, MAX_LENGTH, normal, padded_tokens


@check("attention", applies=needs("cross"))
def context(setup: AttentionSetup) -> None:
    """A context of any other length is read, and each query by itself."""
    module = setup.build()
    x = normal(setup.generator(0), BATCH, 5, DIM)
    for length in (1, 3, LENGTHS[1]):
        memory = normal(setup.generator(1), BATCH, length, DIM)
        out = attend(module, x, context=memory)
        must(
            tuple(out.shape) == tuple(x.shape),
            f"context of length {length}: shape {tuple(out.shape)} instead of {tuple(x.shape)}",
        )
        finite(out, f"context of length {length}: output")
        differ(attend(module, x, context=memory + 1), out, f"changing a context of {length}")
        other = torch.cat([x[:, :2], torch.randn_like(x[:, 2:3]), x[:, 3:]], dim=1)
        again = attend(module, other, context=memory)
        kept = [0, 1, 3, 4]
        close(again[:, kept], out[:, kept], f"context of {length}: rows of the other queries")


@check("attention", applies=needs("cross"))
def few_rows(setup: AttentionSetup) -> None:
    """Queries from some rows of x only, with all of x as context, give those rows of the output."""
    module = setup.build()
    position = setup.encoding(module)
    for length in LENGTHS:
        x = normal(setup.generator(0), BATCH, length, DIM)
        tokens = padded_tokens(length) if setup.can("padding") else Tokens.whole(length)
        for causal in (False, True) if setup.can("causal") else (False,):
            whole = attend(module, x, tokens, position=position, causal=causal)
            for rows in (slice(0, 1), slice(2, 5), slice(None)):
                few = attend(
                    module, x[:, rows], tokens[rows], x, tokens, position=position, causal=causal
                )
                real = tokens[rows].attention_mask
                kept = torch.ones(few.shape[:2], dtype=torch.bool) if real is None else real
                what = f"length {length}{', causal' if causal else ''}: rows {rows}"
                close(few[kept], whole[:, rows][kept], f"{what} against those of the whole")


@check("attention")
def length(setup: AttentionSetup) -> None:
    """It takes any length, or with `fixed-length` any up to its maximum, and refuses more."""
    module = setup.build()
    for asked in (1, 2, MAX_LENGTH):
        out = attend(module, normal(setup.generator(0), 1, asked, DIM))
        must(tuple(out.shape) == (1, asked, DIM), f"length {asked}: shape {tuple(out.shape)}")
        finite(out, f"length {asked}: output")
    longer = normal(setup.generator(0), 1, MAX_LENGTH + 1, DIM)
    try:
        attend(module, longer)
    except (ValueError, IndexError) as error:
        must(setup.can("fixed-length"), f"refuses length {MAX_LENGTH + 1}: {error}")
    else:
        must(
            not setup.can("fixed-length"),
            f"built for {MAX_LENGTH} tokens, yet takes {MAX_LENGTH + 1} without a ValueError",
        )
