"""The base class of mixers that read a text in its order: recurrences and causal convolutions."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from zoo.components.attention.base import Attention
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens, past_tokens


class CausalMixer(Attention):
    """Causal by nature, with a state that decoding continues; a subclass has ``mix_tokens``.

    name: its registered name.
    Padding is zero in what a subclass is given, and may stand anywhere: the subclass must leave the
    state as it is there. Raises ValueError where a call is not causal, or reads another text.
    """

    capabilities: ClassVar[tuple[str, ...]] = ("padding", "causal", "causal-only", "cache", "order")
    name: ClassVar[str]

    def __init__(self, dim: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        if heads < 1 or dim % heads:
            raise ValueError(f"width {dim} does not divide into {heads} heads")
        self.heads, self.head_dim, self.dropout = heads, dim // heads, dropout

    @abstractmethod
    def mix_tokens(self, x: Tensor, layer: LayerContext, state: dict[str, Tensor]) -> Tensor:
        """x (B, L, D), zero in padding, to (B, L, D). state: ``layer.state``; to be updated."""

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        if not layer.causal or layer.context is not None:
            raise ValueError(f"attention '{self.name}' reads the text before each token alone")
        if layer.tokens.attention_mask is not None:
            x = x.masked_fill(~layer.tokens.attention_mask[..., None], 0)
        return self.mix_tokens(x, layer, layer.state(self))

    def split(self, x: Tensor) -> Tensor:
        """(B, L, H · width) as heads (B, H, L, width)."""
        heads: Tensor = x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return heads


def hide(x: Tensor, tokens: Tokens) -> Tensor:
    """x (B, H, L, ·) with zeros at the positions of padding."""
    if tokens.attention_mask is None:
        return x
    return x.masked_fill(~tokens.attention_mask[:, None, :, None], 0)


class CausalConvolution(nn.Module):
    """y_t = b + Σ_i w_i ⊙ x_{t-i} over the last ``size`` tokens, channel by channel."""

    def __init__(self, width: int, size: int, *, bias: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size, width))  # oldest first
        self.bias = nn.Parameter(torch.empty(width)) if bias else None
        for parameter in self.parameters():  # as torch.nn.Conv1d's
            nn.init.uniform_(parameter, -(size**-0.5), size**-0.5)

    def forward(self, x: Tensor, tokens: Tokens, state: dict[str, Tensor]) -> Tensor:
        """(B, L, width) to the same. state: of ``Cache.state``, to be updated."""
        count, length = len(self.weight) - 1, x.shape[1]
        if tokens.attention_mask is None:  # slices have cheaper gradients than windows
            earlier = state.get("convolution", x.new_zeros(len(x), count, x.shape[-1]))
            x = torch.cat([earlier, x], dim=1)
            state["convolution"] = x[:, length:]
            past = tuple(x[:, i : i + length] for i in range(count + 1))
        else:
            past = past_tokens(x, tokens, count, state, "convolution").unbind(2)
        # Term by term: one product would copy the past of all tokens.
        out = past[-1] * self.weight[-1]
        for token, weight in zip(past[:-1], self.weight[:-1], strict=True):
            out = out + token * weight
        return out if self.bias is None else out + self.bias
