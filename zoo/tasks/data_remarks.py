"""What a reader of a table should know of its texts: how many are cut, and unbalanced classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from zoo.data.sources.corpus import IGNORED

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


def reading_remark(notes: Mapping[str, str]) -> str:
    """What was guessed or left out when the files were read; empty where nothing was."""
    told = notes.get("reading", "")
    return f"Reading the data: {told}." if told else ""


def frequent_tag_remark(texts: Sequence[np.ndarray]) -> str:
    """What answering every token with the most frequent tag of its own text scores.

    texts: the tags of each test text; ``IGNORED`` does not count, and some tag must.
    """
    counts = [np.bincount(tags[tags != IGNORED], minlength=1) for tags in texts]
    share = sum(found.max() for found in counts) / sum(found.sum() for found in counts)
    return (
        f"Answering all of a test text with the most frequent tag of that text scores {share:.3f}: "
        "up to there a row may only know which tags a text has, not which token has which."
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
