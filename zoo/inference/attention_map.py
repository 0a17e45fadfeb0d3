"""What the tokens of one text look at, in every layer and head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from zoo.components.block.base import Block
from zoo.components.tokens import Tokens
from zoo.models.encoder import Encoder


@dataclass(frozen=True)
class AttentionMap:
    """tokens: L word pieces. weights: float32 (layers, H, L, L); row: query, column: key.

    Each row sums to one. cut: how many tokens of the text the model was too short for;
    unknown: how many of those shown it does not know.
    """

    text: str
    tokens: list[str]
    weights: npt.NDArray[np.float32]
    cut: int = 0
    unknown: int = 0

    @property
    def nothing_known(self) -> bool:
        """Whether all that was read, but for [CLS], is unknown."""
        return self.unknown >= len(self.tokens) - 1

    @property
    def layers(self) -> int:
        """How many layers there are."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """How many heads each layer has."""
        return int(self.weights.shape[1])

    @property
    def averaged(self) -> npt.NDArray[np.float32]:
        """The mean over heads (layers, L, L)."""
        mean: npt.NDArray[np.float32] = self.weights.mean(axis=1)
        return mean


@torch.inference_mode()
def attention_weights(encoder: Encoder, ids: Tensor, tokens: Tokens) -> npt.NDArray[np.float32]:
    """The maps (layers, H, L, L) of one text (ids: 1, L), each from what its layer was given.

    Every position of the last layer is looked at, also those that the pool does not read.
    """
    maps: list[Tensor] = []

    def look(attention: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        weights: Callable[..., Tensor] = attention.weights  # type: ignore[assignment]
        maps.append(weights(*args, **{k: v for k, v in kwargs.items() if k != "cache"}))

    hooks = [
        cast(Block, block).attention.register_forward_pre_hook(look, with_kwargs=True)
        for block in encoder.blocks
    ]
    was_training = encoder.training
    encoder.eval()
    try:
        encoder(ids, tokens)
    finally:
        encoder.train(was_training)
        for hook in hooks:
            hook.remove()
    stacked: npt.NDArray[np.float32] = torch.cat(maps).float().cpu().numpy()
    return stacked
