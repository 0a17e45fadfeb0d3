"""The encoder of x-transformers."""

from __future__ import annotations

from torch import Tensor, nn

from zoo import part
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo_peers.peer import Embedded, Peer, key_mask, library, one_of

POSITIONS = ("rotary", "absolute")


class Absolute(nn.Module):
    """The library's table of learned positions with the interface of the zoo's encodings."""

    def __init__(self, table: nn.Module) -> None:
        super().__init__()
        self.table = table

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add to x (B, L, D) the vectors of positions (L) or (B, L)."""
        added: Tensor = self.table(x, pos=positions)
        return x + added


@part(
    "baseline",
    "x-transformers",
    source="https://github.com/lucidrains/x-transformers",
    adds=("tokens", "head"),
)
class XEncoder(Peer):
    """x-transformers' Encoder with flash attention, mean pool and the cells' head.

    x_transformers.Encoder over the cells' embedding; needs the extra ``x``.

    As in the library: pre-norm and a final norm, LayerNorm without shift, no biases in the
    projections of attention, GELU. Unlike its defaults: heads are dim / heads wide and not 64,
    attention is flash (torch's scaled_dot_product_attention), rotary positions turn the whole
    head, like the zoo's rope, and not half of it, and both sub-layers' outputs have dropout, as in
    the cells. ``positions='absolute'`` is its learned AbsolutePositionalEmbedding.

    Raises ComponentError where x-transformers is missing, ValueError for a head width that
    rotary positions cannot turn.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        classes: int,
        sizes: Sizes,
        dropout: float = 0.0,
        positions: str = "rotary",
        attention_dropout: float = 0.0,
        pool: str = "mean",
        head_hidden: int = 0,
    ) -> None:
        super().__init__(
            classes=classes, sizes=sizes, dropout=dropout, pool=pool, head_hidden=head_hidden
        )
        one_of("positions", positions, POSITIONS)
        x_transformers = library("x_transformers", "x-transformers", "x")
        head_dim = sizes.dim // sizes.heads
        rotary = positions == "rotary"
        if rotary and (head_dim % 2 or head_dim < 4):
            raise ValueError(f"rotary positions need heads of an even width from 4, not {head_dim}")
        position = None
        if not rotary:
            table = x_transformers.x_transformers.AbsolutePositionalEmbedding
            position = Absolute(table(sizes.dim, sizes.max_length))
        self.embed = Embedded(vocab_size, sizes.dim, position, dropout)
        self.encoder = x_transformers.Encoder(
            dim=sizes.dim,
            depth=sizes.layers,
            heads=sizes.heads,
            attn_dim_head=head_dim,
            attn_flash=True,
            attn_dropout=attention_dropout,
            attn_sublayer_dropout=dropout,
            # The library takes int(dim * ff_mult): the half keeps rounding from losing a unit.
            ff_mult=(sizes.ffn_dim + 0.5) / sizes.dim,
            ff_dropout=dropout,
            ff_sublayer_dropout=dropout,
            rotary_pos_emb=rotary,
            rotary_emb_dim=head_dim if rotary else None,
            verbose=False,
        )

    def encode(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to vectors (B, L, D)."""
        x = self.embed(ids, tokens.positions)
        # Not mask=, which also masks outputs that are never read, and turns bfloat16 into float32.
        out: Tensor = self.encoder(x, self_attn_kv_mask=key_mask(tokens), pos=tokens.positions)
        return out
