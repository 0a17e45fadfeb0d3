"""From one word-piece vocabulary to another.

A pretrained BERT knows its own word pieces, the harness's batches hold the zoo's. Cutting the texts
anew would give this one model other batches, of other lengths, than every other row has. So the
ids stay, and each of the zoo's pieces starts as the mean of the vectors of those pieces into which
the pretrained vocabulary cuts it (Samenko et al. 2021, Fine-Tuning Transformers: Vocabulary
Transfer, section 3, https://arxiv.org/abs/2112.14569). A piece that both have is taken over as it
is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

PREFIX, UNKNOWN = "##", "[UNK]"


def cut(piece: str, vocabulary: Mapping[str, int]) -> list[int]:
    """The ids of a piece in the vocabulary; several where it has to be cut, none where it cannot.

    Greedy, longest match first, as WordPiece cuts words (Devlin et al. 2019); what continues a
    word, ``##ing``, is cut into pieces that do.
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

    A piece that theirs cannot make up, and a special token that theirs has not, is their [UNK].
    """
    rows = []
    for piece in ours:
        special = piece.startswith("[") and piece.endswith("]") and len(piece) > 2
        ids = [theirs[piece]] if piece in theirs else [] if special else cut(piece, theirs)
        rows.append(weights[ids or [theirs[UNKNOWN]]].mean(dim=0))
    return torch.stack(rows)
