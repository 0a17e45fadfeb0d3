"""What a reader of a table should know of its texts: how many are cut, and unbalanced classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from zoo.data.encoding.encoded_documents import EncodedDocuments, Truncation

# Conditions of baselines' rows.
CUT = "some texts are cut"
UNBALANCED = "the classes are unbalanced"
# How many times as frequent as the other classes on average the most frequent one is, from which
# on classes count as unbalanced: 60% of the texts of two classes, 27% of those of five.
UNBALANCED_RATIO = 1.5


def cut_remark(data: EncodedDocuments, cut: Mapping[str, Truncation]) -> str:
    """How many texts are longer than what is read, in a sentence; empty where none is."""
    if not any(one.documents for one in cut.values()):
        return ""
    counts = " and ".join(
        f"{cut[split].documents:,} of {len(cut[split].lengths):,} {name}"
        for split, name in (("test", "test texts"), ("train", "training texts"))
    )
    total = sum(int(one.lengths.sum()) for one in cut.values())
    share = sum(one.tokens for one in cut.values()) / total
    return (
        f"{counts} are longer than {data.max_length} tokens. What follows, {share:.0%} of all "
        "tokens, is cut off: only baselines with whole=True read it."
    )


def unbalanced_remark(counts: np.ndarray, names: Sequence[str]) -> str:
    """That the classes of the training texts are unbalanced, in a sentence; else empty.

    counts: training texts of each class (classes).
    """
    present = counts[counts > 0]
    most, total = int(present.max()), int(present.sum())
    if most <= UNBALANCED_RATIO * (total - most) / (len(present) - 1):
        return ""
    return (
        f"Unbalanced classes: {most / total:.0%} of the training texts are "
        f"'{names[int(counts.argmax())]}', where an even share would be {1 / len(present):.0%}. "
        "Accuracy counts mostly the frequent classes; --metric macro_f1 counts all alike."
    )
