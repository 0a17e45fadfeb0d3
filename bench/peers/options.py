"""The options that every comparison takes, and the sizes of the models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.training.device import Runtime

CLASSES = 5


@dataclass(frozen=True)
class Shape:
    """Sizes of a model and of its batches. length: tokens of each text."""

    sizes: Sizes
    batch: int
    length: int

    @property
    def description(self) -> str:
        """The sizes as text."""
        s = self.sizes
        return f"{s.layers} layers × {s.dim} wide, {self.batch} × {self.length} tokens"


def _shape(batch: int, length: int, dim: int, layers: int, heads: int, ffn_dim: int) -> Shape:
    sizes = Sizes(
        dim=dim, layers=layers, heads=heads, ffn_dim=ffn_dim, max_length=length, vocab_size=4000
    )
    return Shape(sizes, batch, length)


DEEP = _shape(16, 512, 256, 4, 4, 1024)
DEFAULT = Shape(Sizes(), Training().batch_size, Sizes().max_length)  # of ``zoo bench``
LARGE = _shape(4, 512, 512, 12, 8, 2048)
BERT_BASE = _shape(64, 512, 768, 12, 12, 3072)
TINY = _shape(2, 16, 16, 2, 2, 32)


@dataclass(frozen=True)
class Options:
    """blocks: of every comparison, over all processes; 0: until intervals are narrow.

    quick: tiny sizes. data: the directory of BBC news. process: which of those that measure in
    turn, from 0.
    """

    runtime: Runtime
    blocks: int = 0
    quick: bool = False
    data: Path | None = None
    process: int = 0

    @property
    def deep(self) -> Shape:
        """The deep encoder: BERT-base on a GPU, a smaller one on a CPU."""
        if self.quick:
            return TINY
        return BERT_BASE if self.runtime.device.type == "cuda" else DEEP

    @property
    def trained(self) -> tuple[Shape, ...]:
        """The shapes at which equal work is trained."""
        if self.quick:
            return (TINY,)
        on_gpu = self.runtime.device.type == "cuda"
        return (self.deep, DEFAULT) if on_gpu else (DEEP, DEFAULT, LARGE)
