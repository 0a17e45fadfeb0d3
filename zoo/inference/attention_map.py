"""Attention maps: how much each token of a text attends to every other, as numbers and a PNG."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from zoo.components.block.base import Block
from zoo.components.layer_context import LayerContext
from zoo.data.batches import padded
from zoo.data.sources.corpus import is_blank
from zoo.errors import ZooError
from zoo.files import writing
from zoo.models.architectures import evaluating
from zoo.models.stack import Encoder
from zoo.models.text_model import TaggedText, TextClassifier, TextTagger

Weights = dict[int, npt.NDArray[np.float32]]  # layer, counted from 1, to weights (..., L, L)
CELL, LEAST, MOST = 0.3, 4.0, 20.0  # of a picture, in inches: a token, and a map at least, at most
NAMED = 100  # tokens, whose names do not overlap


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights of one text.

    tokens: L word pieces. by_layer: the weights (H, L, L) of the layers whose attention gives
    them; rows are queries, columns are keys, and each row sums to one. predicted: the model's
    answer, in words. cut: how many tokens were beyond the model's length; unknown: how many of
    those read are not in its vocabulary.
    """

    tokens: list[str]
    by_layer: Weights
    predicted: str = ""
    cut: int = 0
    unknown: int = 0

    @property
    def means(self) -> Weights:
        """The mean over heads (L, L) of each layer of ``by_layer``."""
        return {layer: weights.mean(axis=0) for layer, weights in self.by_layer.items()}


def attention_map(model: TextClassifier | TextTagger, text: str) -> AttentionMap:
    """The attention weights of a text in every head of the layers that give them.

    They are computed from each attention's input. Queries of the last layer are all positions, also
    those that the pool does not read. Raises ZooError where no layer's attention gives any.
    """
    if not model.layers_with_map:
        raise ZooError(f"the attention of {model.card.cell} has no attention map")
    if is_blank(text):
        raise ZooError("the text is empty")
    (encoding,), (answer,) = model.encode([text]), model.predict([text])
    if isinstance(answer, TaggedText):
        predicted = " ".join(map("/".join, zip(answer.tokens, answer.tags, strict=True)))
    else:
        share = "" if answer.probability is None else f" ({answer.probability:.1%})"
        predicted = f"{answer.label}{share}"
    maps: Weights = {}

    def hook(number: int, attention: nn.Module, args: tuple[Tensor, LayerContext]) -> None:
        weights: Callable[..., Tensor] = attention.weights  # type: ignore[assignment]
        x, layer = args
        # A copy: what the map's computation leaves is not for later layers.
        (of_text,) = weights(x, replace(layer, shared=dict(layer.shared), losses=None, cache=None))
        maps[number] = of_text.float().cpu().numpy()

    encoder, read = cast(Encoder, model.model.encoder), encoding.ids[: model.max_length]
    hooks = [
        cast(Block, encoder.blocks[number - 1]).attention.register_forward_pre_hook(
            functools.partial(hook, number)
        )
        for number in model.layers_with_map
    ]
    try:
        with evaluating(encoder):
            encoder(*padded([read], model.device))
    finally:
        for handle in hooks:
            handle.remove()
    return AttentionMap(
        encoding.tokens[: model.max_length],
        maps,
        predicted,
        cut=len(encoding.ids) - len(read),
        unknown=read.count(model.unknown_id),
    )


def write_picture(
    file: Path, tokens: Sequence[str], shown: Mapping[int, npt.NDArray[np.float32]], title: str
) -> None:
    """Draw the map (L, L) of each layer beside each other, with one colour scale from 0, as PNG.

    At most ``NAMED`` of the tokens are named. Needs no display. Raises WriteError where it cannot
    be written.
    """
    from matplotlib.figure import Figure

    side = min(MOST, max(LEAST, CELL * len(tokens)))
    named = range(0, len(tokens), math.ceil(len(tokens) / NAMED))
    names = [tokens[place].replace("$", r"\$") for place in named]  # no formulas
    most = max(float(weights.max()) for weights in shown.values())
    figure = Figure(figsize=(side * len(shown) + 2, side + 1), layout="compressed")
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, (layer, weights) in zip(panels, shown.items(), strict=True):
        image = axes.imshow(weights, vmin=0.0, vmax=most, cmap="viridis")
        axes.set(title=f"layer {layer}, mean over heads", xlabel="key", ylabel="query")
        axes.set_xticks(named, names, rotation=90)
        axes.set_yticks(named, names)
    figure.colorbar(image, ax=panels, shrink=0.8, label="attention weight")
    figure.suptitle(title.replace("$", r"\$"), wrap=True)
    with writing(file):
        figure.savefig(file, format="png")
