"""What a call of an attention needs, to be compared with what its registration declares."""

from __future__ import annotations

from collections.abc import Collection

import torch

from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens


def undeclared(
    declared: Collection[str],
    tokens: Tokens,
    keys: Tokens,
    position: PositionalEncoding,
    *,
    width: int,
    causal: bool,
    cross: bool,
    cache: bool,
) -> str:
    """The first capability that a call needs and that is not declared; empty where there is none.

    tokens, keys: of queries and of keys. width: that of the queries which the encoding is given.
    cross, cache: whether the call has a context other than x, and a cache.
    """
    needed = {
        "causal": causal,
        "cross": cross,
        "cache": cache,
        "padding": keys.attention_mask is not None,
        "content-bias": position.reads_content,
    }
    one = tokens.positions[..., :1]  # one position shows which slots an encoding uses
    if "bias" not in declared:
        needed["bias"] = position.bias(one, one) is not None
    if "rotate" not in declared:
        sample = torch.zeros(1, 1, 1, width, device=one.device)
        turned = position.rotate(sample, one), position.rotate_keys(sample, one)
        needed["rotate"] = any(x is not sample for x in turned)
    return next((c for c, asked in needed.items() if asked and c not in declared), "")
