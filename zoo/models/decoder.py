"""Token ids to vectors, every token seeing those before it, and a memory where there is one."""

from __future__ import annotations

from torch import Tensor

from zoo.components.block.base import LayerContext
from zoo.components.tokens import Tokens
from zoo.models.decoding.cache import DecoderCache
from zoo.models.stack import Stack


class Decoder(Stack):
    """The right half of Vaswani et al. 2017, figure 1; without cross-attention, GPT's.

    What a token may see follows from ``tokens`` alone: real tokens whose position is not above
    its own. So padding may stand to the left or to the right, as long as the positions say so.
    """

    def forward(
        self,
        ids: Tensor,
        tokens: Tokens,
        memory: Tensor | None = None,
        memory_tokens: Tokens | None = None,
        *,
        read: slice | None = None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Ids (B, L) to vectors (B, L, D), or to the rows of L that ``read`` names.

        memory (B, Lm, D), memory_tokens: what cross-attention reads, in a decoder that has it.
        cache: of this decoder alone; ids and tokens are then those that come after what it holds.
        """
        if cache is not None and cache.length and memory is not None and memory_tokens is not None:
            # Its keys and values are in the cache already: there is nothing new to project.
            memory, memory_tokens = memory[:, :0], memory_tokens[:0]
        scene = LayerContext(
            tokens,
            self.position,
            causal=True,
            read=read,
            memory=memory,
            memory_tokens=memory_tokens,
        )
        return self.run(ids, scene, cache)

    def new_cache(self) -> DecoderCache:
        """An empty cache; ValueError where the attention keeps none."""
        if not self.caches:
            raise ValueError("this model's attention keeps no cache")
        return DecoderCache(len(self.blocks))
