"""The rig for attentions."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn

from zoo.components.attention.base import Attention, Cache
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.conformance.probes import Probe
from zoo.conformance.setups.base import DIM, HEADS, MAX_LENGTH, Case, ModuleRig, normal

BATCH = 3
# A text whose length no block divides, and longer than the usual window.
LENGTHS = (6, 149)
# And one longer than the usual block, for what a kernel must still do there.
LONG = 523


class AttentionRig(ModuleRig):
    """Builds ``Attention(dim, heads, dropout=…)`` and calls it in every declared way."""

    passes = ("dim", "heads", "dropout", "max_length")
    takes_dropout = True

    @property
    def contract(self) -> type:
        """See Rig.contract."""
        return Attention

    def make(self, dropout: float) -> Any:
        """See Rig.make."""
        fixed = {"max_length": MAX_LENGTH} if self.can("fixed-length") else {}
        return self.choice.build(DIM, HEADS, dropout=dropout, **fixed)

    def can(self, *capabilities: str) -> bool:
        """Whether the choice declares all of these."""
        return self.choice.can(*capabilities)

    def attention(self, **how: Any) -> Attention:
        """As build, typed."""
        return cast(Attention, self.build(**how))

    def encoding(self, module: nn.Module) -> Probe:
        """The reference's encoding in every slot that is declared."""
        heads = cast(Attention, module).heads
        return Probe(rotates=self.can("rotate"), biases=self.can("bias"), heads=heads)

    def cases(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        seed: int = 0,
        length: int = 6,
        texts: slice = slice(None),
    ) -> list[Case]:
        """See ModuleRig.cases."""
        generator = self.generator(seed)
        x = normal(generator, BATCH, length, DIM, dtype=dtype)[texts]
        context = normal(generator, BATCH, length + 3, DIM, dtype=dtype)[texts]
        whole = Tokens.whole(length)
        padded = padded_tokens(length)
        padded = (
            Tokens(padded.attention_mask[texts], padded.positions) if self.can("padding") else whole
        )  # type: ignore[index]
        around = padded_tokens(length + 3)
        keys = Tokens.whole(length + 3)
        if self.can("padding"):
            assert around.attention_mask is not None
            keys = Tokens(around.attention_mask[texts], around.positions)

        def case(name: str, tokens: Tokens, encoded: bool = False, causal: bool = False) -> Case:
            def call(module: nn.Module, x: Tensor) -> Tensor:
                position = self.encoding(module) if encoded else Probe()
                out: Tensor = module(x, tokens=tokens, position=position, causal=causal)
                return out

            return Case(name, (x,), call, tuple(x.shape), _tensors(tokens))

        def across(module: nn.Module, x: Tensor, context: Tensor) -> Tensor:
            out: Tensor = module(
                x,
                context,
                tokens=padded,
                context_tokens=keys,
                position=self.encoding(module),
            )
            return out

        cases = [case("plain", whole)]
        if self.can("rotate") or self.can("bias"):
            cases.append(case("encoded", whole, encoded=True))
        if self.can("padding"):
            cases.append(case("padded", padded, encoded=True))
        if self.can("causal"):
            cases.append(case("causal", padded, encoded=True, causal=True))
        if self.can("cross"):
            fixed = (*_tensors(padded), *_tensors(keys))
            cases.append(Case("cross", (x, context), across, tuple(x.shape), fixed))
        return cases


def padded_tokens(length: int) -> Tokens:
    """A batch of one full text, one of about half, and one of a single token."""
    lengths = torch.tensor([length, (length + 1) // 2, 1])
    positions = torch.arange(length)
    return Tokens(positions < lengths[:, None], positions)


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
    """Call it, with what is left out as plain as can be."""
    if context is not None and context_tokens is None:
        context_tokens = Tokens.whole(context.shape[1])
    out: Tensor = module(
        x,
        context,
        tokens=tokens or Tokens.whole(x.shape[1]),
        context_tokens=context_tokens,
        position=position or Probe(),
        causal=causal,
        cache=cache,
    )
    return out


def _tensors(tokens: Tokens) -> tuple[Tensor, ...]:
    return (
        (tokens.positions,)
        if tokens.attention_mask is None
        else (tokens.attention_mask, tokens.positions)
    )
