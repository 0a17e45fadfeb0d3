"""Order: a diagnostic data set in which only the order of the words decides the class.

Every document contains ``how``, ``are`` and ``you`` once each among filler words, and its class is
their order: "how are you", "you how are" and so on. Every document is written in all six orders, in
the same split, so that a bag of words gives the same answer for all six and scores exactly 1/6. The
three words are next to one another or far apart, anywhere in the document.

An encoding by symmetric distance cannot distinguish a text from its reverse. It can solve the task
because the tokenizer puts [CLS] in front: the distance from it is a word's position.
"""

from __future__ import annotations

from itertools import permutations

from zoo.data.sources.corpus import Corpus, Examples
from zoo.data.sources.diagnostics.drawing import Draw
from zoo.errors import ZooError

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
# The fewest fillers before the first of the three words, and how many different numbers of fillers
# are possible on each side. With two or more there are enough different bags of words.
FEWEST, EDGE = 2, 4


def order(*, seed: int = 0, train: int = 6000, test: int = 1200, max_distance: int = 8) -> Corpus:
    """The corpus of that seed.

    train, test: numbers of documents, multiples of six. max_distance: the greatest distance from
    one of the three words to the next; distances are 1, 2, 4 and so on up to it. Raises ZooError
    for impossible sizes.
    """
    orders = len(ORDERS)
    if min(train, test) < orders or train % orders or test % orders:
        raise ZooError(
            f"order needs train and test to be multiples of {orders}, not {train} and {test}"
        )
    if max_distance < 1:
        raise ZooError(f"order needs max_distance >= 1, not {max_distance}")
    frames = _frames(Draw(seed), (train + test) // orders, max_distance)
    texts = [
        frame.format(*(ORDERED[word] for word in order)) for frame in frames for order in ORDERS
    ]
    labels = list(range(orders)) * len(frames)
    splits = {
        "train": Examples(texts[:train], labels[:train]),
        "test": Examples(texts[train:], labels[train:]),
    }
    how = f"as written, seed {seed}, max_distance {max_distance}"
    notes = {"source": "built-in diagnostic", "split": how}
    return Corpus("order", splits, list(LABEL_NAMES), notes, chance=1 / orders)


def _frames(draw: Draw, number: int, max_distance: int) -> list[str]:
    """Documents with {} for each of the three words; no two have the same bag of words."""
    distances = [2**power for power in range(max_distance.bit_length())]
    frames: dict[tuple[str, ...], str] = {}
    while len(frames) < number:
        before, after = FEWEST + draw.below(EDGE), draw.below(EDGE)
        first, second = draw.pick(distances), draw.pick(distances)
        lengths = (before, first - 1, second - 1, after)
        runs = [[draw.pick(FILLERS) for _ in range(length)] for length in lengths]
        frame = " ".join((*runs[0], "{}", *runs[1], "{}", *runs[2], "{}", *runs[3]))
        # By its bag of words, so that no test document is a training one reordered.
        frames.setdefault(tuple(sorted(word for run in runs for word in run)), frame)
    return list(frames.values())
