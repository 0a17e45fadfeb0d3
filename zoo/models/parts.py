"""The parts of a model, each with initial weights from a generator of its own."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, TypedDict, TypeVar

from torch import nn

from zoo.components.attention.base import Attention
from zoo.components.block.base import Block
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pool.base import Pool
from zoo.config.sizes import Sizes
from zoo.errors import ComponentError, one_line
from zoo.models.embedding import ScaledEmbedding
from zoo.models.seeding import seeded
from zoo.models.stack import Stack
from zoo.registry import Choice
from zoo.registry.cell import Cell


class StackOptions(TypedDict, total=False):
    """The options of ``build_stack`` that every builder of a model takes."""

    dropout: float
    attention_dropout: float
    embedding_std: float


T = TypeVar("T")
S = TypeVar("S", bound=Stack)


def build_stack(
    kind: type[S],
    cell: Cell,
    sizes: Sizes,
    *,
    vocab_size: int,
    seed: int,
    prefix: str = "",
    cross: bool = False,
    all_positions: bool = False,
    dropout: float = 0.0,
    attention_dropout: float = 0.0,
    embedding_std: float = 1.0,
) -> S:
    """An encoder or a decoder: embedding, encoding, ``sizes.layers`` blocks and the final norm.

    prefix: of the name of every part that is seeded, where a model has two stacks. cross: give
    every block a cross-attention. all_positions: see ``Stack``. embedding_std: of the initial
    embeddings, relative to ``torch.nn.Embedding``'s. Raises ComponentError where a component is not
    what its kind promises, ValueError where one refuses its arguments.
    """

    def part(name: str) -> AbstractContextManager[None]:
        return seeded(seed, prefix + name)

    blocks: list[Block] = []
    position: PositionalEncoding | None = None
    for layer in range(sizes.layers):
        with part(f"layers.{layer}.attention"):
            attention = build_attention(cell.attention, sizes, attention_dropout)
        if position is None:
            with part("position"):
                position = build_position(cell.pe, sizes, attention)
        options: dict[str, Any] = {"dropout": dropout}
        if cross:
            with part(f"layers.{layer}.cross"):
                options["cross"] = build_attention(cell.attention, sizes, attention_dropout)
        with part(f"layers.{layer}.ffn"):
            ffn = _call(cell.ffn, sizes.dim, sizes.hidden, dropout)
            if ffn is not None:
                _expect(cell.ffn, ffn, nn.Module)
        with part(f"layers.{layer}.block"):
            block = _call(
                cell.block, attention, ffn, lambda: build_norm(cell.norm, sizes.dim), **options
            )
        blocks.append(_expect(cell.block, block, Block))
    assert position is not None
    with part("embedding"):
        embedding = ScaledEmbedding(vocab_size, sizes.dim, embedding_std)
    with part("final_norm"):
        final_norm = build_norm(cell.norm, sizes.dim) if blocks[-1].final_norm else None
    fixed = cell.pe.can("fixed-length") or cell.attention.can("fixed-length")
    return kind(
        embedding,
        position,
        blocks,
        final_norm,
        dropout=dropout,
        max_length=sizes.max_length if fixed else None,
        caches=cell.attention.can("cache"),
        all_positions=all_positions,
    )


def build_attention(choice: Choice, sizes: Sizes, dropout: float) -> Attention:
    """One layer's attention."""
    fixed = {"max_length": sizes.max_length} if choice.can("fixed-length") else {}
    attention = _call(choice, sizes.dim, sizes.heads, dropout=dropout, **fixed)
    return _expect(choice, attention, Attention)


def build_position(choice: Choice, sizes: Sizes, attention: Attention) -> PositionalEncoding:
    """The positional encoding of all layers, for attentions like this one."""
    position = _call(
        choice,
        dim=sizes.dim,
        heads=attention.heads,
        head_dim=attention.head_dim,
        max_length=sizes.max_length,
    )
    return _expect(choice, position, PositionalEncoding)


def build_norm(choice: Choice, dim: int) -> nn.Module:
    """One norm."""
    norm: nn.Module = _expect(choice, _call(choice, dim), nn.Module)
    return norm


def build_pool(choice: Choice, dim: int) -> Pool:
    """The pool of a classifier."""
    return _expect(choice, _call(choice, dim), Pool)


def _call(choice: Choice, *args: Any, **kwargs: Any) -> Any:
    """What the component's factory returns.

    A wrong signature or import becomes a ComponentError that names the owner. Refused values and
    lack of memory keep their type.
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
    """What was built; ComponentError naming the owner where it is not of the kind's class."""
    if not isinstance(built, kind):
        raise ComponentError(
            f"{choice.component.kind} '{choice}' of {choice.component.owner} built a "
            f"{type(built).__name__}, not a {kind.__module__}.{kind.__name__}"
        )
    return built
