"""The set-up for attentions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from zoo.components.attention.base import Attention, Cache
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.conformance.reference_parts import ReferenceEncoding
from zoo.conformance.setups.setup import (
    BATCH,
    DIM,
    HEADS,
    MAX_LENGTH,
    Case,
    ModuleSetup,
    normal,
    padded_tokens,
    token_tensors,
)

# A short text, and one longer than the usual window that no block size divides.
LENGTHS = (6, 149)
# Longer than the usual block of a kernel.
LONG = 523


class AttentionSetup(ModuleSetup):
    """Builds ``Attention(dim, heads, dropout=…)`` and calls it in every declared way."""

    passes = ("dim", "heads", "dropout", "max_length")
    contract = Attention
    takes_dropout = True

    def make(self, dropout: float = 0.0) -> Any:
        """Build the attention."""
        fixed = {"max_length": MAX_LENGTH} if self.can("fixed-length") else {}
        return self.choice.build(DIM, HEADS, dropout=dropout, **fixed)

    def encoding(self, module: Any) -> ReferenceEncoding:
        """The reference encoding with every declared slot."""
        rotates, biases = self.can("rotate"), self.can("bias")
        return ReferenceEncoding(rotates=rotates, biases=biases, heads=module.heads)

    def _cases(
        self, generator: torch.Generator, dtype: torch.dtype, length: int, texts: slice
    ) -> list[Case]:
        x = normal(generator, BATCH, length, DIM, dtype=dtype)[texts]
        context = normal(generator, BATCH, length + 3, DIM, dtype=dtype)[texts]
        make_tokens = padded_tokens if self.can("padding") else lambda n, _: Tokens.whole(n)
        whole, padded = Tokens.whole(length), make_tokens(length, texts)
        keys = make_tokens(length + 3, texts)

        def case(name: str, tokens: Tokens, encoded: bool = False, causal: bool = False) -> Case:
            def call(module: nn.Module, x: Tensor) -> Tensor:
                position = self.encoding(module) if encoded else ReferenceEncoding()
                out: Tensor = module(x, tokens=tokens, position=position, causal=causal)
                return out

            return Case(name, (x,), call, tuple(x.shape), token_tensors(tokens))

        def cross(module: nn.Module, x: Tensor, context: Tensor) -> Tensor:
            position = self.encoding(module)
            out: Tensor = module(x, context, tokens=padded, context_tokens=keys, position=position)
            return out

        cases = [case("plain", whole)]
        if self.can("rotate") or self.can("bias"):
            cases.append(case("encoded", whole, encoded=True))
        if self.can("padding"):
            cases.append(case("padded", padded, encoded=True))
        if self.can("causal"):
            cases.append(case("causal", padded, encoded=True, causal=True))
        if self.can("cross"):
            fixed = (*token_tensors(padded), *token_tensors(keys))
            cases.append(Case("cross", (x, context), cross, tuple(x.shape), fixed))
        return cases


def attend(
    module: Attention,
    x: Tensor,
    tokens: Tokens | None = None,
    context: Tensor | None = None,
    context_tokens: Tokens | None = None,
    *,
    position: PositionalEncoding | None = None,
    causal: bool = False,
    cache: Cache | None = None,
) -> Tensor:
    """Call an attention; the defaults are whole texts and no encoding."""
    if context is not None and context_tokens is None:
        context_tokens = Tokens.whole(context.shape[1])
    out: Tensor = module(
        x,
        context,
        tokens=tokens or Tokens.whole(x.shape[1]),
        context_tokens=context_tokens,
        position=position or ReferenceEncoding(),
        causal=causal,
        cache=cache,
    )
    return out
