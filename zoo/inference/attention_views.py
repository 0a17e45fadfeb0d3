"""The selection of attention maps by layer and head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zoo.errors import ZooError
from zoo.inference.attention_map import AttentionMap


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
    layers = _numbers("layer", layer or "all", attention_map.layers)
    if head is None:
        return [View(n, None, attention_map.averaged[n - 1]) for n in layers]
    heads = _numbers("head", head, attention_map.heads)
    return [View(n, h, attention_map.weights[n - 1, h - 1]) for n in layers for h in heads]


def _numbers(what: str, asked: str, count: int) -> list[int]:
    """The layers or heads that a text names, of ``count``."""
    if asked == "all":
        return list(range(1, count + 1))
    if asked.isascii() and asked.isdigit() and 1 <= int(asked) <= count:
        return [int(asked)]
    there = "1" if count == 1 else f"1 to {count}"
    raise ZooError(f"--{what} {asked}: this model has {what} {there}; or use all")
