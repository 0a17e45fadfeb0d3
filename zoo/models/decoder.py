"""Token ids to vectors; a token attends to itself, those before it, and an encoder's output."""

from __future__ import annotations

from torch import Tensor

from zoo.components.block.base import LayerContext
from zoo.components.tokens import Tokens
from zoo.models.key_value_cache import DecoderCache
from zoo.models.stack import Stack


class Decoder(Stack):
    """The right half of Vaswani et al. 2017, figure 1; without cross-attention, GPT's.

    A token may attend to real tokens whose position is not above its own. So padding may stand to
    the left or to the right, as long as the positions count real tokens only.
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
        """Ids (B, L) to vectors (B, L, D), or to the positions of L in ``read``.

        memory (B, Lm, D), memory_tokens: an encoder's output, for cross-attention.
        cache: of this decoder; ids and tokens are those after the ones it holds.
        """
        if cache is not None and cache.length and memory is not None and memory_tokens is not None:
            # The cache holds its keys and values: there is nothing new to project.
            memory, memory_tokens = memory[:, :0], memory_tokens[:0]
        layer = LayerContext(
            tokens,
            self.position,
            causal=True,
            read=read,
            memory=memory,
            memory_tokens=memory_tokens,
        )
        return self.run(ids, layer, cache)

    def new_cache(self) -> DecoderCache:
        """An empty cache; ValueError where the attention supports none."""
        if not self.caches:
            raise ValueError("this model's attention keeps no cache")
        return DecoderCache(len(self.blocks))
