"""A cell, sizes and a seed become a model, each part with initial weights of its own."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Required, TypedDict, TypeVar, Unpack

from torch import nn

from zoo.components.attention.base import Attention
from zoo.components.attention.bidirectional import Bidirectional
from zoo.components.block.base import Block
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pool.base import Pool
from zoo.config.sizes import Sizes
from zoo.errors import ComponentError, one_line
from zoo.models.architectures import (
    Classifier,
    EncoderDecoder,
    LanguageModel,
    MaskedLanguageModel,
    Tagger,
    classification_head,
    masked_head,
)
from zoo.models.seeding import seeded
from zoo.models.stack import Decoder, Encoder, ScaledEmbedding, Stack
from zoo.registry import Choice
from zoo.registry.cell import Cell

Place = Mapping[str, int]  # layer_index, from 0, and layer_count: offered to every part of a layer
T = TypeVar("T")
S = TypeVar("S", bound=Stack)


class StackOptions(TypedDict, total=False):
    """What every builder of a model takes besides the cell and the sizes.

    seed: of the initial weights; every part is seeded on its own. dropout: also of the head.
    embedding_std: of the initial embeddings, relative to ``torch.nn.Embedding``'s.
    """

    vocab_size: Required[int]
    seed: Required[int]
    dropout: float
    attention_dropout: float
    embedding_std: float


def build_stack(
    kind: type[S],
    cell: Cell,
    sizes: Sizes,
    *,
    prefix: str = "",
    cross: bool = False,
    all_positions: bool = False,
    **stack_options: Unpack[StackOptions],
) -> S:
    """An encoder or a decoder: embedding, encoding, ``sizes.layers`` blocks and the final norm.

    Each layer has the cell's components of its place in their patterns. The encoding that adds to
    the embeddings does so once, below the first layer, whichever layers have it; a layer's own
    encoding rotates and biases. The last layer's block and norm decide on the final norm.
    prefix: of the name of every part that is seeded, where a model has two stacks. cross: give
    every block a cross-attention. all_positions: see ``Stack``. Raises ComponentError where a
    component is not what its kind promises, ValueError where one refuses its arguments.
    """
    seed, dropout = stack_options["seed"], stack_options.get("dropout", 0.0)
    attention_dropout = stack_options.get("attention_dropout", 0.0)

    def part(name: str) -> AbstractContextManager[None]:
        return seeded(seed, prefix + name)

    blocks: list[Block] = []
    encodings: dict[tuple[object, ...], PositionalEncoding] = {}
    positions: list[PositionalEncoding] = []
    for layer in range(sizes.layers):
        place = {"layer_index": layer, "layer_count": sizes.layers}
        with part(f"layers.{layer}.attention"):
            attention = build_attention(
                cell.at("attention", layer),
                sizes,
                attention_dropout,
                place,
                encoder=issubclass(kind, Encoder),
            )
        pe = cell.at("pe", layer)
        # One for all layers that have it, except for attentions whose heads have other widths and
        # encodings that differ from layer to layer.
        in_heads = pe.can("rotate") or pe.can("bias") or pe.can("content-bias")
        key: tuple[object, ...] = (str(pe),)
        key += (attention.heads, _position_dim(attention)) if in_heads else ()
        key += (layer,) if any(map(pe.takes, place)) else ()
        if key not in encodings:
            with part(f"layers.{layer}.position" if encodings else "position"):
                encodings[key] = build_position(pe, sizes, attention, place)
        positions.append(encodings[key])
        options: dict[str, Any] = {"dropout": dropout}
        if cross:
            with part(f"layers.{layer}.cross"):
                options["cross"] = build_attention(
                    cell.at("attention", layer), sizes, attention_dropout, place
                )
        with part(f"layers.{layer}.ffn"):
            ffn = build_ffn(cell.at("ffn", layer), sizes, dropout, place)
        norm = functools.partial(build_norm, cell.at("norm", layer), sizes.dim, place)
        numbers = itertools.count(2)

        def make_ffn(
            layer: int = layer, place: Place = place, numbers: Iterator[int] = numbers
        ) -> nn.Module | None:
            with part(f"layers.{layer}.ffn.{next(numbers)}"):
                return build_ffn(cell.at("ffn", layer), sizes, dropout, place)

        offered = {**place, "make_ffn": make_ffn}
        with part(f"layers.{layer}.block"):
            block = _call(cell.at("block", layer), attention, ffn, norm, offered=offered, **options)
        blocks.append(_expect(cell.at("block", layer), block, Block))
    with part("embedding"):
        std = stack_options.get("embedding_std", 1.0)
        embedding = ScaledEmbedding(stack_options["vocab_size"], sizes.dim, std)
    with part("final_norm"):
        final_norm = norm() if blocks[-1].final_norm else None
    embeds = (p for i, p in enumerate(positions) if cell.at("pe", i).can("embed"))
    fixed = any(choice.can("fixed-length") for choice in cell.choices)
    last = sizes.layers - 1
    # Fewer queries than keys, in the last layer, need an attention that takes a context.
    few = cell.at("attention", last).can("cross") and not cell.at("ffn", last).can("neighbours")
    few = few and not isinstance(attention, Bidirectional)
    return kind(
        embedding,
        next(embeds, positions[0]),
        blocks,
        final_norm,
        layer_positions=positions,
        dropout=dropout,
        max_length=sizes.max_length if fixed else None,
        caches=all(attention.can("cache") for attention in cell.axes["attention"])
        and all(ffn.can("cache") or not ffn.can("neighbours") for ffn in cell.axes["ffn"]),
        all_positions=all_positions or not few,
    )


def build_attention(
    choice: Choice,
    sizes: Sizes,
    dropout: float,
    place: Place | None = None,
    *,
    encoder: bool = False,
) -> Attention:
    """One layer's attention; in an encoder one that is causal by nature runs in both directions."""
    fixed = {"max_length": sizes.max_length} if choice.can("fixed-length") else {}
    directions = [
        _expect(
            choice,
            _call(choice, sizes.dim, sizes.heads, dropout=dropout, offered=place, **fixed),
            Attention,
        )
        for _ in range(2 if encoder and choice.can("causal-only") else 1)
    ]
    return directions[0] if len(directions) == 1 else Bidirectional(*directions)


def build_position(
    choice: Choice, sizes: Sizes, attention: Attention, place: Place | None = None
) -> PositionalEncoding:
    """The positional encoding of all layers that have attentions like this one."""
    position = _call(
        choice,
        dim=sizes.dim,
        heads=attention.heads,
        head_dim=_position_dim(attention),
        max_length=sizes.max_length,
        offered=place,
    )
    return _expect(choice, position, PositionalEncoding)


def _position_dim(attention: Attention) -> int:
    """The width of the queries and keys that an encoding is given."""
    return attention.head_dim if attention.position_dim is None else attention.position_dim


def build_ffn(
    choice: Choice, sizes: Sizes, dropout: float, place: Place | None = None
) -> nn.Module | None:
    """One layer's feed-forward network; None for a layer without."""
    ffn = _call(choice, sizes.dim, sizes.ffn_dim, dropout, offered=place)
    return None if ffn is None else _expect(choice, ffn, nn.Module)


def build_norm(choice: Choice, dim: int, place: Place | None = None) -> nn.Module:
    """One norm."""
    norm: nn.Module = _expect(choice, _call(choice, dim, offered=place), nn.Module)
    return norm


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


def _head(dim: int, hidden: int, outputs: int, options: StackOptions) -> nn.Module:
    with seeded(options["seed"], "head"):
        return classification_head(dim, hidden, outputs, options.get("dropout", 0.0))


def build_classifier(
    cell: Cell,
    sizes: Sizes,
    *,
    classes: int,
    head_hidden: int = 0,
    all_positions: bool = False,
    **options: Unpack[StackOptions],
) -> Classifier:
    """Assemble the cell as an encoder, a pool and a head.

    head_hidden: width of the head's hidden layer, 0 for none. all_positions: compute every
    position of the last layer, also where the pool reads one. Raises as ``build_stack`` does.
    """
    encoder = build_stack(Encoder, cell, sizes, all_positions=all_positions, **options)
    choice = cell.at("pool", 0)
    with seeded(options["seed"], "pool"):
        pool = _expect(choice, _call(choice, sizes.dim), Pool)
    width = sizes.dim if pool.width is None else pool.width
    return Classifier(encoder, pool, _head(width, head_hidden, classes, options))


def build_tagger(
    cell: Cell,
    sizes: Sizes,
    *,
    tags: int,
    head_hidden: int = 0,
    causal: bool = False,
    **options: Unpack[StackOptions],
) -> Tagger:
    """Assemble the cell with a head at every position; its pool is not used.

    causal: a token sees only itself and those before it. The rest: as of ``build_classifier``.
    """
    kind: type[Encoder | Decoder] = Decoder if causal else Encoder
    encoder = build_stack(kind, cell, sizes, **options)
    return Tagger(encoder, _head(sizes.dim, head_hidden, tags, options))


def build_masked_language_model(
    cell: Cell, sizes: Sizes, **options: Unpack[StackOptions]
) -> MaskedLanguageModel:
    """Assemble the cell as an encoder that predicts masked tokens; its pool is not used.

    The encoder is that of ``build_classifier`` with this seed. Raises as ``build_stack`` does.
    """
    encoder = build_stack(Encoder, cell, sizes, **options)
    with seeded(options["seed"], "masked_head"):
        return MaskedLanguageModel(encoder, masked_head(sizes.dim))


def build_language_model(
    cell: Cell, sizes: Sizes, **options: Unpack[StackOptions]
) -> LanguageModel:
    """Assemble the cell as a decoder without cross-attention; its pool is not used.

    Raises as ``build_stack`` does.
    """
    return LanguageModel(build_stack(Decoder, cell, sizes, **options))


def build_encoder_decoder(
    cell: Cell, sizes: Sizes, **options: Unpack[StackOptions]
) -> EncoderDecoder:
    """Assemble the cell as an encoder and a decoder of ``sizes.layers`` blocks each.

    Both have embeddings and an encoding of their own. Raises as ``build_stack`` does.
    """
    encoder = build_stack(Encoder, cell, sizes, prefix="encoder.", **options)
    decoder = build_stack(Decoder, cell, sizes, prefix="decoder.", cross=True, **options)
    return EncoderDecoder(encoder, decoder)
