"""torch.nn.TransformerEncoder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pe.learned import Learned
from zoo.components.pe.sin import Sinusoidal
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo_peers.peer import Embedded, Peer, key_mask, one_of

POSITIONS: dict[str, type[PositionalEncoding]] = {"sinusoidal": Sinusoidal, "learned": Learned}
ACTIVATIONS = ("relu", "gelu")


@part(
    "baseline",
    "torch-encoder",
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html",
    adds=("tokens", "head"),
)
class TorchEncoder(Peer):
    """torch.nn.TransformerEncoder, mean pool and the cells' head.

    torch.nn.TransformerEncoder over the cells' embedding and positions.

    By default as in torch and Vaswani et al. 2017: post-norm, ReLU, no final norm. With norm_first
    there is a final norm, as in torch.nn.Transformer. Each layer has its own initial weights;
    torch's constructor gives all of them the same.

    In evaluation, with gradients off and texts of different lengths, torch takes its fast path:
    nested tensors without padding. It cannot with norm_first, an odd number of heads, autocast or
    torch.compile; then, as in training, padding is masked. fast_path=False switches it off, and
    that of single layers too: on a CPU this can be faster.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        classes: int,
        sizes: Sizes,
        dropout: float = 0.0,
        positions: str = "sinusoidal",
        activation: str = "relu",
        norm_first: bool = False,
        fast_path: bool = True,
        attention_dropout: float = 0.0,
        pool: str = "mean",
        head_hidden: int = 0,
    ) -> None:
        super().__init__(
            classes=classes, sizes=sizes, dropout=dropout, pool=pool, head_hidden=head_hidden
        )
        one_of("positions", positions, POSITIONS)
        one_of("activation", activation, ACTIVATIONS)
        self.fast_path = fast_path
        position = POSITIONS[positions](
            dim=sizes.dim,
            heads=sizes.heads,
            head_dim=sizes.dim // sizes.heads,
            max_length=sizes.max_length,
        )
        self.embed = Embedded(vocab_size, sizes.dim, position, dropout)

        def layer() -> nn.TransformerEncoderLayer:
            made = nn.TransformerEncoderLayer(
                sizes.dim,
                sizes.heads,
                sizes.ffn_dim,
                dropout=dropout,
                activation=activation,
                batch_first=True,
                norm_first=norm_first,
            )
            # Torch applies dropout to attention weights too; the cells have a separate rate for it.
            made.self_attn.dropout = attention_dropout
            return made

        self.encoder = nn.TransformerEncoder(
            layer(),
            sizes.layers,
            norm=nn.LayerNorm(sizes.dim) if norm_first else None,
            enable_nested_tensor=not norm_first and sizes.heads % 2 == 0,
        )
        self.encoder.layers = nn.ModuleList(layer() for _ in range(sizes.layers))

    def encode(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to vectors (B, L, D)."""
        mask = key_mask(tokens)
        x = self.embed(ids, tokens.positions)
        # Torch avoids the fast path under autocast on CUDA only; on a CPU it would raise.
        allowed = self.fast_path and not torch.is_autocast_enabled(x.device.type)
        with contextlib.nullcontext() if allowed else _no_fast_path():
            out: Tensor = self.encoder(x, src_key_padding_mask=None if mask is None else ~mask)
        return out


@contextlib.contextmanager
def _no_fast_path() -> Iterator[None]:
    """Switch torch's fast path off, and restore the switch afterwards."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
