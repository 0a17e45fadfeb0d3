"""A cell, sizes and a seed become a model, each part with initial weights of its own."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Required, TypedDict, TypeVar, Unpack

from torch import Tensor, nn

from zoo.components.attention.base import Attention
from zoo.components.attention.bidirectional import Bidirectional
from zoo.components.block.base import Block
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pool.base import Pool
from zoo.components.tokens import Tokens
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
    **stack_options: Unpack[StackOptions],
) -> S:
    """An encoder or a decoder: embedding, encoding, ``sizes.layers`` blocks and the final norm.

    Each layer has the cell's components of its place in their patterns. The encoding that adds to
    the embeddings does so once, below the first layer, whichever layers have it; a layer's own
    encoding rotates and biases. The last layer's block and norm decide on the final norm.
    prefix: of the name of every part that is seeded, where a model has two stacks. cross: give
    every block a cross-attention. Raises ComponentError where a component is not what its kind
    promises, ValueError where one refuses its arguments.
    """
    seed, dropout = stack_options["seed"], stack_options.get("dropout", 0.0)
    attention_dropout = stack_options.get("attention_dropout", 0.0)

    def part(name: str) -> AbstractContextManager[None]:
        return seeded(seed, prefix + name)

    def networks(layer: int, place: Place) -> Iterator[nn.Module | None]:
        """The feed-forward network of a layer, and as many more as the block asks for."""
        for number in itertools.count(1):
            widths, kinds = (sizes.dim, sizes.ffn_dim), (nn.Module, type(None))
            with part(f"layers.{layer}.ffn{f'.{number}' if number > 1 else ''}"):
                built: nn.Module | None = _build(
                    cell.at("ffn", layer), kinds, *widths, dropout, offered=place
                )
            yield built

    blocks: list[Block] = []
    encodings: dict[tuple[object, ...], PositionalEncoding] = {}
    positions: list[PositionalEncoding] = []
    for layer in range(sizes.layers):
        place = {"layer_index": layer, "layer_count": sizes.layers}
        choice = cell.at("attention", layer)
        with part(f"layers.{layer}.attention"):
            attention = build_attention(
                choice, sizes, attention_dropout, place, encoder=issubclass(kind, Encoder)
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
        ffns = networks(layer, place)
        offered = {**place, "make_ffn": functools.partial(next, ffns)}
        options: dict[str, Any] = {"dropout": dropout, "offered": offered}
        if cross:
            with part(f"layers.{layer}.cross"):
                options["cross"] = build_attention(choice, sizes, attention_dropout, place)
        norm = functools.partial(build_norm, cell.at("norm", layer), sizes.dim, place)
        ffn = next(ffns)
        with part(f"layers.{layer}.block"):
            block = _build(cell.at("block", layer), Block, attention, ffn, norm, **options)
        blocks.append(block)
    with part("embedding"):
        std = stack_options.get("embedding_std", 1.0)
        embedding = ScaledEmbedding(stack_options["vocab_size"], sizes.dim, std)
    with part("final_norm"):
        final_norm = norm() if blocks[-1].final_norm else None
    embeds = (p for i, p in enumerate(positions) if cell.at("pe", i).can("embed"))
    fixed = any(choice.can("fixed-length") for choice in cell.choices)
    # Fewer queries than keys, in the last layer, need an attention that takes a context.
    few = choice.can("cross") and not cell.at("ffn", sizes.layers - 1).can("neighbours")
    return kind(
        embedding,
        next(embeds, positions[0]),
        positions,
        blocks,
        final_norm,
        dropout=dropout,
        max_length=sizes.max_length if fixed else None,
        caches=all(attention.can("cache") for attention in cell.axes["attention"])
        and all(ffn.can("cache") or not ffn.can("neighbours") for ffn in cell.axes["ffn"]),
        by_token=all(block.packs for block in blocks)
        and not any(ffn.can("neighbours") for ffn in cell.axes["ffn"]),
        all_positions=not few or isinstance(attention, Bidirectional),
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
    options: dict[str, Any] = {"dropout": dropout, "offered": place}
    if choice.can("fixed-length"):
        options["max_length"] = sizes.max_length
    attention = _build(choice, Attention, sizes.dim, sizes.heads, **options)
    if not encoder or not choice.can("causal-only"):
        return attention
    return Bidirectional(attention, _build(choice, Attention, sizes.dim, sizes.heads, **options))


def build_position(
    choice: Choice, sizes: Sizes, attention: Attention, place: Place | None = None
) -> PositionalEncoding:
    """The positional encoding of all layers that have attentions like this one."""
    return _build(
        choice,
        PositionalEncoding,
        dim=sizes.dim,
        heads=attention.heads,
        head_dim=_position_dim(attention),
        max_length=sizes.max_length,
        offered=place,
    )


def _position_dim(attention: Attention) -> int:
    """The width of the queries and keys that an encoding is given."""
    return attention.head_dim if attention.position_dim is None else attention.position_dim


def build_norm(choice: Choice, dim: int, place: Place | None = None) -> nn.Module:
    """One norm."""
    return _build(choice, nn.Module, dim, offered=place)


def _build(choice: Choice, kind: type[T] | tuple[type, ...], *args: Any, **kwargs: Any) -> T:
    """What the component's factory returns.

    A wrong signature or import, or another kind of object, becomes a ComponentError that names the
    owner. Refused values and lack of memory keep their type.
    """
    what = f"{choice.component.kind} '{choice}' of {choice.component.owner}"
    try:
        built: T = choice.build(*args, **kwargs)
    except (ComponentError, ValueError, MemoryError, RuntimeError):
        raise
    except Exception as error:
        raise ComponentError(f"{what} cannot be built: {one_line(error)}") from error
    if not isinstance(built, kind):
        wanted = kind[0] if isinstance(kind, tuple) else kind
        raise ComponentError(
            f"{what} built a {type(built).__name__}, not a {wanted.__module__}.{wanted.__name__}"
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
    **options: Unpack[StackOptions],
) -> Classifier:
    """Assemble the cell as an encoder, a pool and a head.

    head_hidden: width of the head's hidden layer, 0 for none. Raises as ``build_stack`` does.
    """
    encoder = build_stack(Encoder, cell, sizes, **options)
    with seeded(options["seed"], "pool"):
        pool = _build(cell.at("pool", 0), Pool, sizes.dim)
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
    """As ``build_classifier``, with a head at every position and without a pool.

    causal: a token sees only itself and those before it.
    """
    kind: type[Encoder | Decoder] = Decoder if causal else Encoder
    encoder = build_stack(kind, cell, sizes, **options)
    return Tagger(encoder, _head(sizes.dim, head_hidden, tags, options))


def build_masked_language_model(
    cell: Cell, sizes: Sizes, **options: Unpack[StackOptions]
) -> MaskedLanguageModel:
    """Assemble the cell as an encoder, that of ``build_classifier``, with a head for masks."""
    encoder = build_stack(Encoder, cell, sizes, **options)
    with seeded(options["seed"], "masked_head"):
        return MaskedLanguageModel(encoder, masked_head(sizes.dim))


def build_language_model(
    cell: Cell, sizes: Sizes, **options: Unpack[StackOptions]
) -> LanguageModel:
    """Assemble the cell as a decoder without cross-attention; its pool is not used."""
    return LanguageModel(build_stack(Decoder, cell, sizes, **options))


def build_encoder_decoder(
    cell: Cell, sizes: Sizes, **options: Unpack[StackOptions]
) -> EncoderDecoder:
    """An encoder and a decoder of ``sizes.layers`` blocks, each with embeddings of its own."""
    encoder = build_stack(Encoder, cell, sizes, prefix="encoder.", **options)
    decoder = build_stack(Decoder, cell, sizes, prefix="decoder.", cross=True, **options)
    return EncoderDecoder(encoder, decoder)


class PlainEncoder(nn.Module):
    """Takes ids and an attention mask, as modules of Transformers do."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Ids (B, L), and a mask (B, L) that is true where a token is real; None: all are.

        To vectors (B, L, D), of which those of padding mean nothing, or to logits (B, classes).
        """
        whole = Tokens.whole(ids.shape[1], ids.device)
        tokens = whole if attention_mask is None else Tokens.of(attention_mask)
        output: Tensor = self.model(ids, tokens)
        return output
