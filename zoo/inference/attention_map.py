"""Attention maps: how much each token of a text attends to every other."""

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
from zoo.data.batching.document_batches import padded
from zoo.errors import ZooError
from zoo.models.classifier import Classifier
from zoo.models.decoder import Decoder
from zoo.models.encoder import Encoder
from zoo.models.tagger import Tagger
from zoo.models.text_classifier import TextClassifier
from zoo.models.text_model import evaluating
from zoo.models.text_tagger import TextTagger


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights of one text.

    tokens: L word pieces. weights: float32 (layers, H, L, L); rows are queries, columns are keys,
    and each row sums to one. cut: how many tokens were beyond the model's length; unknown: how
    many of those read are not in its vocabulary. specials: how many, such as [CLS], are no words.
    """

    text: str
    tokens: list[str]
    weights: npt.NDArray[np.float32]
    cut: int = 0
    unknown: int = 0
    specials: int = 1

    @property
    def all_unknown(self) -> bool:
        """Whether every token that was read, except [CLS], is unknown."""
        return self.unknown >= len(self.tokens) - self.specials

    @property
    def averaged(self) -> npt.NDArray[np.float32]:
        """The mean over heads (layers, L, L)."""
        mean: npt.NDArray[np.float32] = self.weights.mean(axis=1)
        return mean


def attention_map(model: TextClassifier | TextTagger, text: str) -> AttentionMap:
    """The attention weights of a text in every layer and head.

    Raises ZooError where the attention does not give its weights, or the model is an ensemble.
    """
    if not isinstance(model.model, Classifier | Tagger):
        raise ZooError("an ensemble has no attention map: each member has its own")
    if not model.has_attention_map:
        raise ZooError(f"the attention of {model.card.cell} has no attention map")
    (encoding,) = model.encode([text])
    read = encoding.ids[: model.max_length]
    ids, tokens = padded([read], model.device)
    return AttentionMap(
        text,
        encoding.tokens[: model.max_length],
        attention_weights(model.model.encoder, ids, tokens),
        cut=len(encoding.ids) - len(read),
        unknown=read.count(model.unknown_id),
        specials=int(isinstance(model.model, Classifier)),
    )


def attention_weights(
    encoder: Encoder | Decoder, ids: Tensor, tokens: Tokens
) -> npt.NDArray[np.float32]:
    """The weights (layers, H, L, L) of one text (ids: 1, L), from the input of each attention.

    Queries of the last layer are all positions, also those that the pool does not read.
    """
    maps: list[Tensor] = []

    def hook(attention: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        weights: Callable[..., Tensor] = attention.weights  # type: ignore[assignment]
        maps.append(weights(*args, **{k: v for k, v in kwargs.items() if k != "cache"}))

    hooks = [
        cast(Block, block).attention.register_forward_pre_hook(hook, with_kwargs=True)
        for block in encoder.blocks
    ]
    try:
        with evaluating(encoder):
            encoder(ids, tokens)
    finally:
        for handle in hooks:
            handle.remove()
    stacked: npt.NDArray[np.float32] = torch.cat(maps).float().cpu().numpy()
    return stacked


@dataclass(frozen=True)
class View:
    """The weights (L, L) of one layer and one head; head None: the mean over heads.

    Layers and heads count from 1.
    """

    layer: int
    head: int | None
    weights: npt.NDArray[np.float32]

    @property
    def title(self) -> str:
        """``layer 1, head 2``."""
        return f"layer {self.layer}, {f'head {self.head}' if self.head else 'mean over heads'}"


def views(attention_map: AttentionMap, layer: str | None, head: str | None) -> list[View]:
    """The maps of a layer and a head, each a number or ``all``.

    layer None: all layers. head None: the mean over heads. Raises ZooError where there is no such
    layer or head.
    """
    layers = _numbers("layer", layer or "all", len(attention_map.weights))
    if head is None:
        return [View(n, None, attention_map.averaged[n - 1]) for n in layers]
    heads = _numbers("head", head, attention_map.weights.shape[1])
    return [View(n, h, attention_map.weights[n - 1, h - 1]) for n in layers for h in heads]


def _numbers(what: str, asked: str, count: int) -> list[int]:
    """The layers or heads that a text names, of ``count``."""
    if asked == "all":
        return list(range(1, count + 1))
    if asked.isascii() and asked.isdigit() and 1 <= int(asked) <= count:
        return [int(asked)]
    there = "1" if count == 1 else f"1 to {count}"
    raise ZooError(f"--{what} {asked}: this model has {what} {there}; or use all")
