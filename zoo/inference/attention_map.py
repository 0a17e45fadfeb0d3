"""Attention maps: how much each token of a text attends to every other, as numbers and a PNG."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from zoo.components.block.base import Block
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.data.batches import padded
from zoo.errors import ZooError
from zoo.files import writing
from zoo.models.architectures import Classifier, evaluating
from zoo.models.stack import Decoder, Encoder
from zoo.models.text_model import TaggedText, TextClassifier, TextTagger

# Of a picture, in inches: a token, a whole map at least and at most, and from label to label.
CELL, LEAST, MOST, LABEL = 0.3, 2.5, 20.0, 0.17
COLUMNS = 4


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights of one text.

    tokens: L word pieces. by_layer: the layer, from 1, to its weights, float32 (H, L, L), for the
    layers whose attention gives them; rows are queries, columns are keys, and each row sums to one.
    missing: the other layers. predicted: the model's answer, in words. cut: how many tokens were
    beyond the model's length; unknown: how many of those read are not in its vocabulary. specials:
    how many, such as [CLS], are no words.
    """

    text: str
    tokens: list[str]
    by_layer: dict[int, npt.NDArray[np.float32]]
    missing: tuple[int, ...] = ()
    predicted: str = ""
    cut: int = 0
    unknown: int = 0
    specials: int = 1

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        """The weights (layers, H, L, L) of all of ``by_layer``.

        Raises ZooError where their numbers of heads differ.
        """
        if len({len(weights) for weights in self.by_layer.values()}) > 1:
            raise ZooError("the layers differ in their numbers of heads: see by_layer")
        return np.stack(list(self.by_layer.values()))

    @property
    def means(self) -> dict[int, npt.NDArray[np.float32]]:
        """The mean over heads (L, L) of each layer of ``by_layer``."""
        return {layer: weights.mean(axis=0) for layer, weights in self.by_layer.items()}

    @property
    def all_unknown(self) -> bool:
        """Whether every token that was read, except [CLS], is unknown."""
        return self.unknown >= len(self.tokens) - self.specials


def attention_map(model: TextClassifier | TextTagger, text: str) -> AttentionMap:
    """The attention weights of a text in every head of the layers that give them.

    Raises ZooError where no layer's attention does.
    """
    if not model.layers_with_map:
        raise ZooError(f"the attention of {model.card.cell} has no attention map")
    (encoding,) = model.encode([text])
    read = encoding.ids[: model.max_length]
    ids, tokens = padded([read], model.device)
    encoder = cast(Encoder, model.model.encoder)
    by_layer = attention_weights(encoder, ids, tokens, model.layers_with_map)
    return AttentionMap(
        text,
        encoding.tokens[: model.max_length],
        by_layer,
        tuple(n for n in range(1, len(encoder.blocks) + 1) if n not in by_layer),
        predicted=_predicted(model, text),
        cut=len(encoding.ids) - len(read),
        unknown=read.count(model.unknown_id),
        specials=int(isinstance(model.model, Classifier)),
    )


def _predicted(model: TextClassifier | TextTagger, text: str) -> str:
    """A class with its probability, or the tag of each token."""
    (answer,) = model.predict([text])
    if isinstance(answer, TaggedText):
        return " ".join(map("/".join, zip(answer.tokens, answer.tags, strict=True)))
    sure = "" if answer.probability is None else f" ({answer.probability:.1%})"
    return f"{answer.label}{sure}"


def attention_weights(
    encoder: Encoder | Decoder, ids: Tensor, tokens: Tokens, layers: Sequence[int]
) -> dict[int, npt.NDArray[np.float32]]:
    """The weights (H, L, L) of some layers for one text (ids: 1, L), from each attention's input.

    Layers count from 1. Queries of the last layer are all positions, also those that the pool does
    not read.
    """
    maps: dict[int, npt.NDArray[np.float32]] = {}

    def hook(number: int, attention: nn.Module, args: tuple[Tensor, LayerContext]) -> None:
        weights: Callable[..., Tensor] = attention.weights  # type: ignore[assignment]
        x, layer = args
        # A copy: what the map's computation leaves is not for later layers.
        (of_text,) = weights(x, replace(layer, shared=dict(layer.shared), losses=None, cache=None))
        maps[number] = of_text.float().cpu().numpy()

    hooks = [
        cast(Block, encoder.blocks[layer - 1]).attention.register_forward_pre_hook(
            functools.partial(hook, layer)
        )
        for layer in layers
    ]
    try:
        with evaluating(encoder):
            encoder(ids, tokens)
    finally:
        for handle in hooks:
            handle.remove()
    return maps


def write_picture(
    file: Path, tokens: Sequence[str], shown: Mapping[int, npt.NDArray[np.float32]], title: str
) -> None:
    """Draw the map (L, L) of each layer in a grid with one colour scale from 0, as PNG.

    Of a long text, as many tokens are named as there is room for in letters of readable size. Needs
    no display. The same map gives the same file. Raises WriteError where it cannot be written.
    """
    from matplotlib.figure import Figure

    from zoo.report.plots.plot import styled
    from zoo.report.tables.text import plain

    columns = min(COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    side = min(MOST, max(LEAST, CELL * len(tokens)))
    every = math.ceil(LABEL * len(tokens) / side)
    most = max(float(weights.max()) for weights in shown.values())
    with styled(), writing(file):
        figure = Figure(figsize=(columns * (side + 1.2) + 0.6, rows * (side + 1.2)))
        figure.set_layout_engine("compressed", h_pad=0.1)
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, (layer, weights) in zip(grid.flat, shown.items(), strict=False):
            image = axes.imshow(weights, vmin=0.0, vmax=most, cmap="viridis")
            axes.set(title=f"layer {layer}, mean over heads", xlabel="key", ylabel="query")
            named = range(0, len(tokens), every)
            axes.set_xticks(named, tokens[::every], rotation=90)
            axes.set_yticks(named, tokens[::every])
            axes.grid(visible=False)
        for axes in list(grid.flat)[len(shown) :]:
            axes.set_axis_off()
        figure.colorbar(image, ax=grid, shrink=0.8, label="attention weight")
        figure.suptitle(textwrap.fill(plain(title), max(30, int(12 * columns * side))))
        figure.savefig(file, format="png", metadata={"Software": None})
