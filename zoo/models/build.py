"""A cell, sizes and a seed become a classifier, a language model or an encoder-decoder."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import nn

from zoo.components.attention.base import Attention
from zoo.components.block.base import Block
from zoo.components.pe.base import PositionalEncoding
from zoo.components.pool.base import Pool
from zoo.config.sizes import Sizes
from zoo.errors import ComponentError, one_line
from zoo.models.classifier import Classifier, classification_head
from zoo.models.decoder import Decoder
from zoo.models.deep_ensemble import DeepEnsemble
from zoo.models.embedding import ScaledEmbedding
from zoo.models.encoder import Encoder
from zoo.models.encoder_decoder import EncoderDecoder
from zoo.models.language_model import LanguageModel
from zoo.models.seeding import derive, seeded
from zoo.registry import Choice
from zoo.registry.cell import Cell

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
    embedding_std: float = 1.0,
    read_last: bool = True,
) -> Classifier:
    """Assemble the cell's classifier, each part from its own stream of the seed.

    read_last: let the last layer compute only the rows its pool reads, where attention is known
    to allow that. Raises ComponentError where a component is not what its kind promises, and
    ValueError where one refuses the values it is given.
    """
    plan = StackPlan(cell, sizes, seed, dropout, attention_dropout, embedding_std)
    encoder = Encoder(
        *plan.parts(vocab_size), **plan.traits, read_last=read_last and cell.attention.can("cross")
    )
    with seeded(seed, "pool"):
        pool = _expect(cell.pool, _build(cell.pool, sizes.dim), Pool)
    with seeded(seed, "head"):
        head = classification_head(sizes.dim, sizes.head_hidden, classes, dropout)
    return Classifier(encoder, pool, head)


def build_ensemble(
    cell: Cell, sizes: Sizes, *, seed: int, **rest: Any
) -> Classifier | DeepEnsemble:
    """As many of the cell's classifiers as ``sizes`` has members; where that is one, itself.

    Each of several is from a seed of its own. rest: as ``build_classifier``, which see.
    """
    if sizes.members == 1:
        return build_classifier(cell, sizes, seed=seed, **rest)
    seeds = [derive(seed, f"members.{number}") for number in range(sizes.members)]
    return DeepEnsemble([build_classifier(cell, sizes, seed=own, **rest) for own in seeds])


def build_language_model(
    cell: Cell,
    sizes: Sizes,
    *,
    vocab_size: int,
    seed: int,
    dropout: float = 0.0,
    attention_dropout: float = 0.0,
    embedding_std: float = 1.0,
    tied: bool = True,
) -> LanguageModel:
    """Assemble the cell as a decoder without cross-attention; its pool has no place there.

    tied: score tokens by the embeddings themselves, and not by a matrix of their own.
    Raises as ``build_classifier`` does.
    """
    plan = StackPlan(cell, sizes, seed, dropout, attention_dropout, embedding_std)
    decoder = Decoder(*plan.parts(vocab_size), **plan.traits)
    return LanguageModel(decoder, None if tied else _token_head(sizes.dim, vocab_size, seed))


def build_encoder_decoder(
    cell: Cell,
    sizes: Sizes,
    *,
    vocab_size: int,
    target_vocab_size: int | None = None,
    seed: int,
    dropout: float = 0.0,
    attention_dropout: float = 0.0,
    embedding_std: float = 1.0,
    tied: bool = True,
) -> EncoderDecoder:
    """Assemble the cell as an encoder and a decoder of ``sizes.layers`` blocks each.

    vocab_size, target_vocab_size: of source and target; None for as many. Both have embeddings
    and an encoding of their own. tied: as in ``build_language_model``; raises likewise.
    """
    target = vocab_size if target_vocab_size is None else target_vocab_size
    of_both = (seed, dropout, attention_dropout, embedding_std)
    reading = StackPlan(cell, sizes, *of_both, "encoder.")
    writing = StackPlan(cell, sizes, *of_both, "decoder.")
    encoder = Encoder(*reading.parts(vocab_size), **reading.traits)
    decoder = Decoder(*writing.parts(target, cross=True), **writing.traits)
    return EncoderDecoder(encoder, decoder, None if tied else _token_head(sizes.dim, target, seed))


@dataclass(frozen=True)
class StackPlan:
    """What an encoder or a decoder is assembled from.

    part: stands before the name of every stream of the seed, where a model has two stacks.
    """

    cell: Cell
    sizes: Sizes
    seed: int
    dropout: float
    attention_dropout: float
    embedding_std: float
    part: str = ""

    @property
    def traits(self) -> dict[str, Any]:
        """What ``Stack`` wants to know beside its parts."""
        fixed = self.cell.pe.can("fixed-length") or self.cell.attention.can("fixed-length")
        return {
            "dropout": self.dropout,
            "max_length": self.sizes.max_length if fixed else None,
            "caches": self.cell.attention.can("cache"),
        }

    def parts(
        self, vocab_size: int, *, cross: bool = False
    ) -> tuple[nn.Embedding, PositionalEncoding, list[Block], nn.Module | None]:
        """Embedding, encoding, blocks and the final norm, each from its own stream of the seed.

        cross: give every block a cross-attention.
        """
        cell, sizes = self.cell, self.sizes
        blocks: list[Block] = []
        position: PositionalEncoding | None = None
        for layer in range(sizes.layers):
            with self.stream(f"layers.{layer}.attention"):
                attention = build_attention(cell.attention, sizes, self.attention_dropout)
            if position is None:
                with self.stream("position"):
                    position = build_position(cell.pe, sizes, attention)
            more: dict[str, Any] = {}
            if cross:
                with self.stream(f"layers.{layer}.cross"):
                    more["cross"] = build_attention(cell.attention, sizes, self.attention_dropout)
            with self.stream(f"layers.{layer}.ffn"):
                ffn = _build(cell.ffn, sizes.dim, sizes.hidden, self.dropout)
                if ffn is not None:
                    _expect(cell.ffn, ffn, nn.Module)
            with self.stream(f"layers.{layer}.block"):
                block = _build(
                    cell.block,
                    attention,
                    ffn,
                    lambda: build_norm(cell.norm, sizes.dim),
                    dropout=self.dropout,
                    **more,
                )
            blocks.append(_expect(cell.block, block, Block))
        assert position is not None
        with self.stream("embedding"):
            embedding = ScaledEmbedding(vocab_size, sizes.dim, self.embedding_std)
        with self.stream("final_norm"):
            final_norm = build_norm(cell.norm, sizes.dim) if blocks[-1].final_norm else None
        return embedding, position, blocks, final_norm

    def stream(self, name: str) -> AbstractContextManager[None]:
        """Draw from the named stream of this stack."""
        return seeded(self.seed, self.part + name)


def _token_head(dim: int, vocab_size: int, seed: int) -> nn.Linear:
    with seeded(seed, "head"):
        return nn.Linear(dim, vocab_size, bias=False)


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
