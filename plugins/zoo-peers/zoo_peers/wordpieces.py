"""From one word-piece vocabulary to another.

A pretrained BERT has its own word pieces, and the harness's batches hold the zoo's. Tokenizing the
texts again would give this one model other batches, of other lengths, than every other model. So
the ids stay, and each of the zoo's pieces starts as the mean of the vectors of the pieces into
which the pretrained vocabulary splits it (Samenko et al. 2021, Fine-Tuning Transformers: Vocabulary
Transfer, section 3, https://arxiv.org/abs/2112.14569). A piece in both vocabularies keeps its
vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

PREFIX, UNKNOWN = "##", "[UNK]"


def split(piece: str, vocabulary: Mapping[str, int]) -> list[int]:
    """The ids of a piece in the vocabulary; several where it is split, none where it cannot be.

    Greedy, longest match first, like WordPiece (Devlin et al. 2019); a piece that continues a
    word, ``##ing``, is split into pieces that do.
    """
    if piece in vocabulary:
        return [vocabulary[piece]]
    continues = piece.startswith(PREFIX) and piece != PREFIX
    rest = piece.removeprefix(PREFIX) if continues else piece
    ids: list[int] = []
    while rest:
        prefix = PREFIX if ids or continues else ""
        for end in range(len(rest), 0, -1):
            if prefix + rest[:end] in vocabulary:
                ids.append(vocabulary[prefix + rest[:end]])
                rest = rest[end:]
                break
        else:
            return []
    return ids


def remapped(weights: Tensor, theirs: Mapping[str, int], ours: Sequence[str]) -> Tensor:
    """Embeddings (len(ours), D) of our pieces from the embeddings (V, D) of theirs.

    A piece that cannot be split, and a special token that theirs lacks, gets their [UNK].
    """
    rows = []
    for piece in ours:
        special = piece.startswith("[") and piece.endswith("]") and len(piece) > 2
        ids = [theirs[piece]] if piece in theirs else [] if special else split(piece, theirs)
        rows.append(weights[ids or [theirs[UNKNOWN]]].mean(dim=0))
    return torch.stack(rows)
