"""The set-up for attentions."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from zoo.components.attention.base import Attention, Cache
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.conformance.reference import ReferenceEncoding
from zoo.conformance.setup import (
    DIM,
    HEADS,
    MAX_LENGTH,
    Case,
    Draw,
    ModuleSetup,
    padded_tokens,
    token_tensors,
)

# A short text, and one longer than the usual window that no block size divides.
LENGTHS = (6, 149)
# Longer than the usual block of a kernel.
LONG = 523


class AttentionSetup(ModuleSetup, kind="attention"):
    """Builds ``Attention(dim, heads, dropout=…)`` and calls it in every declared way."""

    passes = ("dim", "heads", "dropout", "max_length")
    contract = Attention
    takes_dropout = True

    def make(self, dropout: float = 0.0) -> Any:
        fixed = {"max_length": MAX_LENGTH} if self.can("fixed-length") else {}
        return self.choice.build(DIM, HEADS, dropout=dropout, **fixed)

    def encoding(self, module: Any) -> ReferenceEncoding:
        """The reference encoding with every declared slot."""
        return ReferenceEncoding(self.can("rotate"), self.can("bias"), heads=module.heads)

    def tokens(self, length: int, texts: slice = slice(None)) -> Tokens:
        """Padded, if it takes padding."""
        return padded_tokens(length, texts) if self.can("padding") else Tokens.whole(length)

    @property
    def causal_or_not(self) -> tuple[bool, ...]:
        """The values of ``causal`` that it takes."""
        return (False, True) if self.can("causal") else (False,)

    def _cases(self, draw: Draw, length: int) -> list[Case]:
        x, context = draw(length, DIM), draw(length + 3, DIM)
        padded, keys = self.tokens(length, draw.texts), self.tokens(length + 3, draw.texts)

        def case(name: str, tokens: Tokens, encoded: bool = True, causal: bool = False) -> Case:
            def call(module: nn.Module, x: Tensor) -> Tensor:
                position = self.encoding(module) if encoded else None
                return attend(module, x, tokens, position=position, causal=causal)

            return Case(name, (x,), call, x.shape, token_tensors(tokens))

        def cross(module: nn.Module, x: Tensor, context: Tensor) -> Tensor:
            return attend(module, x, padded, context, keys, position=self.encoding(module))

        cases = [case("plain", Tokens.whole(length), encoded=False)]
        if self.can("rotate") or self.can("bias"):
            cases.append(case("encoded", Tokens.whole(length)))
        if self.can("padding"):
            cases.append(case("padded", padded))
        if self.can("causal"):
            cases.append(case("causal", padded, causal=True))
        if self.can("cross"):
            fixed = (*token_tensors(padded), *token_tensors(keys))
            cases.append(Case("cross", (x, context), cross, x.shape, fixed))
        return cases


def attend(
    module: nn.Module,
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
