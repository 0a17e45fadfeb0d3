"""Order: a probe in which only the order of the words tells the classes apart.

Every document holds ``how``, ``are`` and ``you`` once each among words that say nothing, and its
class is the order in which they stand: the tutorial's "how are you" and "you how are". The same
documents are written in all six orders, in the same split, so that whoever sees a bag of words
gives all six one answer and scores exactly 1/6. The three stand next to one another or far
apart, anywhere in the document.

An encoding by symmetric distance reads a text backwards as forwards. It can do the task because
the tokenizer puts [CLS] in front: how far a word is from there is where it stands.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import TypeVar

from zoo.data.sources.corpus import Corpus
from zoo.errors import ZooError

T = TypeVar("T")
Frame = tuple[str | None, ...]

ORDERED = ("how", "are", "you")
ORDERS = tuple(permutations(range(len(ORDERED))))
LABEL_NAMES = [" ".join(ORDERED[word] for word in order) for order in ORDERS]
FILLERS = (
    "about above after again also away back before below beside both by down each early ever "
    "far few first for from here in inside into just last late like many more most much near "
    "never next now of off often on once only other out over past quite rather since so some "
    "soon still such than that then there this through till to today too under until up very "
    "well when while with within yet"
).split()
# Fewest words before the first of the three, and how many numbers of words there can be on each
# side. The fewest leave enough bags of words for any number of documents.
FEWEST, EDGE = 2, 4


def load(*, seed: int = 0, train: int = 6000, test: int = 1200, reach: int = 8) -> Corpus:
    """The documents of that seed.

    train, test: documents, a multiple of six each. reach: the greatest distance from one of the
    three words to the next; distances are 1, 2, 4 and so on up to it. Raises ZooError for sizes
    that cannot be.
    """
    orders = len(ORDERS)
    if min(train, test) < orders or train % orders or test % orders:
        raise ZooError(
            f"order needs train and test to be multiples of {orders}, not {train} and {test}"
        )
    if reach < 1:
        raise ZooError(f"order needs reach >= 1, not {reach}")
    draw = random.Random(seed).random
    frames = _frames(draw, (train + test) // orders, reach)
    texts = [_fill(frame, order) for frame in frames for order in ORDERS]
    labels = list(range(orders)) * len(frames)
    return Corpus(
        name="order",
        train_texts=texts[:train],
        train_labels=labels[:train],
        test_texts=texts[train:],
        test_labels=labels[train:],
        label_names=list(LABEL_NAMES),
        notes={"source": "built-in probe", "split": f"as written, seed {seed}, reach {reach}"},
    )


def _frames(draw: Callable[[], float], number: int, reach: int) -> list[Frame]:
    """Documents with three places left open (None); no two are made of the same words."""
    distances = [2**power for power in range(reach.bit_length())]
    frames: dict[tuple[str, ...], Frame] = {}
    while len(frames) < number:
        before, after = FEWEST + int(draw() * EDGE), int(draw() * EDGE)
        first, second = _pick(draw, distances), _pick(draw, distances)
        lengths = (before, first - 1, second - 1, after)
        runs = [[_pick(draw, FILLERS) for _ in range(length)] for length in lengths]
        frame = (*runs[0], None, *runs[1], None, *runs[2], None, *runs[3])
        # Kept by its bag of words, so that no test document is a training one reordered.
        frames.setdefault(tuple(sorted(word for run in runs for word in run)), frame)
    return list(frames.values())


def _pick(draw: Callable[[], float], choices: Sequence[T]) -> T:
    return choices[int(draw() * len(choices))]


def _fill(frame: Frame, order: Sequence[int]) -> str:
    """The frame with the three words in its open places, in that order."""
    words = iter(ORDERED[word] for word in order)
    return " ".join(next(words) if word is None else word for word in frame)
