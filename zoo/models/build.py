"""A cell, sizes and a seed become a classifier, a language model or an encoder-decoder."""

from __future__ import annotations

from typing import Any, Unpack

from torch import nn

from zoo.config.sizes import Sizes
from zoo.models.classifier import Classifier, classification_head
from zoo.models.decoder import Decoder
from zoo.models.deep_ensemble import DeepEnsemble
from zoo.models.encoder import Encoder
from zoo.models.encoder_decoder import EncoderDecoder
from zoo.models.language_model import LanguageModel
from zoo.models.masked_language_model import MaskedLanguageModel, masked_head
from zoo.models.parts import StackOptions, build_pool, build_stack
from zoo.models.seeding import derive, seeded
from zoo.models.tagger import Tagger
from zoo.registry.cell import Cell


def build_classifier(
    cell: Cell,
    sizes: Sizes,
    *,
    vocab_size: int,
    classes: int,
    seed: int,
    head_hidden: int = 0,
    all_positions: bool = False,
    **options: Unpack[StackOptions],
) -> Classifier:
    """Assemble the cell as an encoder, a pool and a head; every part is seeded on its own.

    head_hidden: width of the head's hidden layer, 0 for none. all_positions: compute every
    position of the last layer, also where the pool reads one. options: dropout (also of the head),
    attention_dropout and embedding_std. Raises as ``build_stack`` does.
    """
    encoder = build_stack(
        Encoder,
        cell,
        sizes,
        vocab_size=vocab_size,
        seed=seed,
        all_positions=all_positions,
        **options,
    )
    with seeded(seed, "pool"):
        pool = build_pool(cell.pool.at(0), sizes.dim)
    with seeded(seed, "head"):
        width = sizes.dim if pool.width is None else pool.width
        head = classification_head(width, head_hidden, classes, options.get("dropout", 0.0))
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


def build_tagger(
    cell: Cell,
    sizes: Sizes,
    *,
    vocab_size: int,
    tags: int,
    seed: int,
    head_hidden: int = 0,
    causal: bool = False,
    **options: Unpack[StackOptions],
) -> Tagger:
    """Assemble the cell with a head at every position; its pool is not used.

    causal: a token sees only itself and those before it. The rest: as of ``build_classifier``.
    """
    kind: type[Encoder | Decoder] = Decoder if causal else Encoder
    encoder = build_stack(kind, cell, sizes, vocab_size=vocab_size, seed=seed, **options)
    with seeded(seed, "head"):
        head = classification_head(sizes.dim, head_hidden, tags, options.get("dropout", 0.0))
    return Tagger(encoder, head)


def build_masked_language_model(
    cell: Cell, sizes: Sizes, *, vocab_size: int, seed: int, **options: Unpack[StackOptions]
) -> MaskedLanguageModel:
    """Assemble the cell as an encoder that predicts masked tokens; its pool is not used.

    The encoder is that of ``build_classifier`` with this seed. options, errors: as there.
    """
    encoder = build_stack(Encoder, cell, sizes, vocab_size=vocab_size, seed=seed, **options)
    with seeded(seed, "masked_head"):
        return MaskedLanguageModel(encoder, masked_head(sizes.dim))


def build_language_model(
    cell: Cell,
    sizes: Sizes,
    *,
    vocab_size: int,
    seed: int,
    tied: bool = True,
    **options: Unpack[StackOptions],
) -> LanguageModel:
    """Assemble the cell as a decoder without cross-attention; its pool is not used.

    tied: score tokens by the embeddings themselves and not by a separate matrix. options, errors:
    as of ``build_classifier``.
    """
    decoder = build_stack(Decoder, cell, sizes, vocab_size=vocab_size, seed=seed, **options)
    return LanguageModel(decoder, None if tied else _token_head(sizes.dim, vocab_size, seed))


def build_encoder_decoder(
    cell: Cell,
    sizes: Sizes,
    *,
    vocab_size: int,
    target_vocab_size: int | None = None,
    seed: int,
    tied: bool = True,
    **options: Unpack[StackOptions],
) -> EncoderDecoder:
    """Assemble the cell as an encoder and a decoder of ``sizes.layers`` blocks each.

    vocab_size, target_vocab_size: of source and target; None for as many. Each has embeddings
    and an encoding of its own. tied, options, errors: as of ``build_language_model``.
    """
    target = vocab_size if target_vocab_size is None else target_vocab_size
    encoder = build_stack(
        Encoder, cell, sizes, vocab_size=vocab_size, seed=seed, prefix="encoder.", **options
    )
    decoder = build_stack(
        Decoder, cell, sizes, vocab_size=target, seed=seed, prefix="decoder.", cross=True, **options
    )
    return EncoderDecoder(encoder, decoder, None if tied else _token_head(sizes.dim, target, seed))


def _token_head(dim: int, vocab_size: int, seed: int) -> nn.Linear:
    with seeded(seed, "head"):
        return nn.Linear(dim, vocab_size, bias=False)
