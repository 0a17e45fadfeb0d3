"""A cell, sizes and a seed become a classifier, a language model or an encoder-decoder."""

from __future__ import annotations

from typing import Any

from torch import nn

from zoo.config.sizes import Sizes
from zoo.models.classifier import Classifier, classification_head
from zoo.models.decoder import Decoder
from zoo.models.deep_ensemble import DeepEnsemble
from zoo.models.encoder import Encoder
from zoo.models.encoder_decoder import EncoderDecoder
from zoo.models.language_model import LanguageModel
from zoo.models.parts import build_pool, build_stack
from zoo.models.seeding import derive, seeded
from zoo.registry.cell import Cell


def build_classifier(
    cell: Cell,
    sizes: Sizes,
    *,
    vocab_size: int,
    classes: int,
    seed: int,
    head_hidden: int = 0,
    dropout: float = 0.0,
    attention_dropout: float = 0.0,
    embedding_std: float = 1.0,
    all_positions: bool = False,
) -> Classifier:
    """Assemble the cell as an encoder, a pool and a head; every part is seeded on its own.

    head_hidden: width of the head's hidden layer, 0 for none. all_positions: compute every
    position of the last layer, also where the pool reads one. Raises ComponentError where a
    component is not what its kind promises, ValueError where one refuses its arguments.
    """
    encoder = build_stack(
        Encoder,
        cell,
        sizes,
        vocab_size=vocab_size,
        seed=seed,
        dropout=dropout,
        attention_dropout=attention_dropout,
        embedding_std=embedding_std,
        # Fewer queries than keys need an attention that takes a context.
        all_positions=all_positions or not cell.attention.can("cross"),
    )
    with seeded(seed, "pool"):
        pool = build_pool(cell.pool, sizes.dim)
    with seeded(seed, "head"):
        head = classification_head(sizes.dim, head_hidden, classes, dropout)
    return Classifier(encoder, pool, head)


def build_ensemble(
    cell: Cell, sizes: Sizes, *, members: int, seed: int, **rest: Any
) -> Classifier | DeepEnsemble:
    """A deep ensemble of ``members`` classifiers, each with a seed of its own.

    One member is the classifier of ``seed`` itself. rest: the arguments of ``build_classifier``.
    """
    if members == 1:
        return build_classifier(cell, sizes, seed=seed, **rest)
    seeds = [derive(seed, f"members.{number}") for number in range(members)]
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
    """Assemble the cell as a decoder without cross-attention; its pool is not used.

    tied: score tokens by the embeddings themselves and not by a separate matrix.
    Raises as ``build_classifier`` does.
    """
    decoder = build_stack(
        Decoder,
        cell,
        sizes,
        vocab_size=vocab_size,
        seed=seed,
        dropout=dropout,
        attention_dropout=attention_dropout,
        embedding_std=embedding_std,
    )
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

    vocab_size, target_vocab_size: of source and target; None for as many. Each has embeddings
    and an encoding of its own. tied and errors: as in ``build_language_model``.
    """
    target = vocab_size if target_vocab_size is None else target_vocab_size
    shared: dict[str, Any] = {
        "seed": seed,
        "dropout": dropout,
        "attention_dropout": attention_dropout,
        "embedding_std": embedding_std,
    }
    encoder = build_stack(Encoder, cell, sizes, vocab_size=vocab_size, prefix="encoder.", **shared)
    decoder = build_stack(
        Decoder, cell, sizes, vocab_size=target, prefix="decoder.", cross=True, **shared
    )
    return EncoderDecoder(encoder, decoder, None if tied else _token_head(sizes.dim, target, seed))


def _token_head(dim: int, vocab_size: int, seed: int) -> nn.Linear:
    with seeded(seed, "head"):
        return nn.Linear(dim, vocab_size, bias=False)
