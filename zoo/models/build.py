"""A cell, sizes and a seed become a classifier."""

from __future__ import annotations

from typing import Any, TypeVar

from torch import nn

from zoo.components.attention.base import Attention
from zoo.components.block.base import Block
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pool.base import Pool
from zoo.errors import ComponentError, one_line
from zoo.models.cell import Cell
from zoo.models.classifier import Classifier, classification_head
from zoo.models.embedding import ScaledEmbedding
from zoo.models.encoder import Encoder
from zoo.models.seeding import seeded
from zoo.models.sizes import Sizes
from zoo.registry import Choice

T = TypeVar("T")


def build_classifier(
    cell: Cell,
    sizes: Sizes,
    *,
    vocab_size: int,
    classes: int,
    seed: int,
    dropout: float = 0.0,
    attention_dropout: float = 0.0,
    read_last: bool = True,
) -> Classifier:
    """Assemble the cell's classifier, each part from its own stream of the seed.

    read_last: let the last layer compute only the rows its pool reads, where attention is known
    to allow that. Raises ComponentError where a component is not what its kind promises, and
    ValueError where one refuses the values it is given.
    """
    blocks: list[Block] = []
    position: PositionalEncoding | None = None
    for layer in range(sizes.layers):
        with seeded(seed, f"layers.{layer}.attention"):
            attention = build_attention(cell.attention, sizes, attention_dropout)
        if position is None:
            with seeded(seed, "position"):
                position = build_position(cell.pe, sizes, attention)
        with seeded(seed, f"layers.{layer}.ffn"):
            ffn = _build(cell.ffn, sizes.dim, sizes.hidden, dropout)
            if ffn is not None:
                _expect(cell.ffn, ffn, nn.Module)
        with seeded(seed, f"layers.{layer}.block"):
            block = _build(
                cell.block,
                attention,
                ffn,
                lambda: build_norm(cell.norm, sizes.dim),
                dropout=dropout,
            )
        blocks.append(_expect(cell.block, block, Block))
    assert position is not None
    with seeded(seed, "embedding"):
        embedding = ScaledEmbedding(vocab_size, sizes.dim)
    with seeded(seed, "final_norm"):
        final_norm = build_norm(cell.norm, sizes.dim) if blocks[-1].final_norm else None
    with seeded(seed, "pool"):
        pool = _expect(cell.pool, _build(cell.pool, sizes.dim), Pool)
    with seeded(seed, "head"):
        head = classification_head(sizes.dim, sizes.head_hidden, classes, dropout)
    encoder = Encoder(
        embedding,
        position,
        blocks,
        final_norm,
        dropout=dropout,
        read_last=read_last and cell.attention.can("cross"),
    )
    return Classifier(encoder, pool, head)


def build_attention(choice: Choice, sizes: Sizes, dropout: float) -> Attention:
    """One layer's attention; those of a fixed length are told which."""
    fixed = {"max_length": sizes.max_length} if choice.can("fixed-length") else {}
    attention = _build(choice, sizes.dim, sizes.heads, dropout=dropout, **fixed)
    return _expect(choice, attention, Attention)


def build_position(choice: Choice, sizes: Sizes, attention: Attention) -> PositionalEncoding:
    """The encoding that serves every layer of this attention."""
    position = _build(
        choice,
        dim=sizes.dim,
        heads=attention.heads,
        head_dim=attention.head_dim,
        max_length=sizes.max_length,
    )
    return _expect(choice, position, PositionalEncoding)


def build_norm(choice: Choice, dim: int) -> nn.Module:
    """One norm."""
    norm = _build(choice, dim)
    _expect(choice, norm, nn.Module)
    module: nn.Module = norm
    return module


def _build(choice: Choice, *args: Any, **kwargs: Any) -> Any:
    """What the factory gives; a signature or an import that is wrong is its owner's to mend.

    What says more than that keeps its type: a refused value, or memory that is not there.
    """
    try:
        return choice.build(*args, **kwargs)
    except (ComponentError, ValueError, MemoryError, RuntimeError):
        raise
    except Exception as error:
        raise ComponentError(
            f"{choice.component.kind} '{choice}' of {choice.component.owner} cannot be built: "
            f"{one_line(error)}"
        ) from error


def _expect(choice: Choice, built: object, kind: type[T]) -> T:
    """What was built; ComponentError naming the owner where it is not what the contract says."""
    if not isinstance(built, kind):
        raise ComponentError(
            f"{choice.component.kind} '{choice}' of {choice.component.owner} built a "
            f"{type(built).__name__}, not a {kind.__module__}.{kind.__name__}"
        )
    return built
