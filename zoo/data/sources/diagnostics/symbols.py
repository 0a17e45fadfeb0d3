"""Texts of a few symbols, each with the answer to one question of counting or of order; pairs.

``built_in.toml`` names the sources; of most it is appendix A of Delétang et al. 2023.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from zoo.data.sources.corpus import Corpus, Pairs
from zoo.data.sources.diagnostics.drawing import SOURCE, Draw, Words, divided, labelled_corpus, need
from zoo.errors import ZooError

BITS = ("zero", "one")
DIGITS = ["zero", "one", "two", "three", "four"]
MOVES = {"stay": 0, "next": 1, "back": -1}
OPERATIONS = ("plus", "minus", "times")
EVEN_OR_ODD = ["even", "odd"]


def _any_of(symbols: Sequence[str]) -> Callable[[Draw, int], Words]:
    """Draws texts of that many symbols, all equally likely."""
    return lambda draw, length: [draw.pick(symbols) for _ in range(length)]


def _unequal_neighbours(words: Words) -> str:
    """Whether their number is even: exactly where the first symbol equals the last.

    So a model must tell these two places from all others.
    """
    unequal = sum(one != other for one, other in itertools.pairwise(words))
    return EVEN_OR_ODD[unequal % 2]


def _ones(words: Words) -> str:
    """Whether the number of ones is even, whatever their order: counting modulo two."""
    return EVEN_OR_ODD[words.count("one") % 2]


def _more_frequent(words: Words) -> str:
    """The more frequent one of two symbols, in texts of odd lengths, so that there are no ties."""
    return "one" if 2 * words.count("one") > len(words) else "zero"


def _position(words: Words) -> str:
    """The position on a cycle of five, from zero, after moves: counting modulo five.

    Gradient boosting on the numbers of the moves scores about 0.95.
    """
    return DIGITS[sum(MOVES[word] for word in words) % len(DIGITS)]


def _sum(draw: Draw, length: int) -> Words:
    return [draw.pick(OPERATIONS if place % 2 else DIGITS) for place in range(length)]


def _value(words: Words) -> str:
    """The value modulo five of sums and products: "two plus three times four" is four."""
    total, product = 0, DIGITS.index(words[0])
    for operation, number in zip(words[1::2], words[2::2], strict=True):
        value = DIGITS.index(number)
        if operation == "times":
            product *= value
        else:
            total, product = total + product, value if operation == "plus" else -value
    return DIGITS[(total + product) % len(DIGITS)]


def _equal_halves(draw: Draw, length: int) -> Words:
    half = [draw.pick(BITS) for _ in range(length // 2)]
    hidden, lost = draw.sample(range(len(half)), 2)
    half[hidden], half[lost] = draw.shuffled(BITS)
    words, start = [*half, *half], draw.pick((0, len(half)))
    words[start + hidden], words[start + lost] = "hidden", "lost"
    return words


def _hidden(words: Words) -> str:
    """The symbol that is hidden in one of two equal halves: it is at its place in the other.

    One thing differs from the source: there the hidden symbol is the only one that is missing.
    Counts alone then decide the class, because every symbol occurs an even number of times in two
    equal halves. Here ``lost`` stands, in the same half, for a symbol unlike the hidden one. Two
    texts with these two symbols exchanged have the same words as often, in each half too, and
    different classes: every classifier by counts is right for one of the two.
    """
    return words[(words.index("hidden") + len(words) // 2) % len(words)]


_two = partial(labelled_corpus, shortest=2)
even_pairs = partial(_two, "even-pairs", _any_of(BITS), _unequal_neighbours, EVEN_OR_ODD)
parity = partial(_two, "parity", _any_of(BITS), _ones, EVEN_OR_ODD)
cycle = partial(_two, "cycle", _any_of(tuple(MOVES)), _position, DIGITS)
_odd = partial(labelled_corpus, shortest=3, step=2)
majority = partial(_odd, "majority", _any_of(BITS), _more_frequent, ["one", "zero"])
modular = partial(_odd, "modular", _sum, _value, DIGITS)
missing_duplicate = partial(
    labelled_corpus,
    "missing-duplicate",
    _equal_halves,
    _hidden,
    ["one", "zero"],
    shortest=4,
    step=2,
)


ORDERED = ("how", "are", "you")
ORDERS = tuple(itertools.permutations(range(len(ORDERED))))
ORDER_NAMES = [" ".join(ORDERED[word] for word in order) for order in ORDERS]
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
    """Order: only the order of the words ``how``, ``are`` and ``you`` decides the class.

    They stand once each among filler words, next to one another or far apart, anywhere in the text.
    Every text is written in all six orders, in the same split, so that a bag of words gives the
    same answer for all six and scores exactly 1/6. An encoding by symmetric distance cannot
    distinguish a text from its reverse. It can solve the task because the tokenizer puts [CLS] in
    front: the distance from it is a word's position.

    train, test: numbers of documents, multiples of six. max_distance: the greatest distance from
    one of the three words to the next; distances are 1, 2, 4 and so on up to it. Raises ZooError
    for impossible sizes.
    """
    orders = len(ORDERS)
    if min(train, test, max_distance) < 1 or train % orders or test % orders:
        raise ZooError(f"order needs max_distance >= 1, train and test to be multiples of {orders}")
    frames = _frames(Draw(seed), (train + test) // orders, max_distance)
    texts = [
        frame.format(*(ORDERED[word] for word in order)) for frame in frames for order in ORDERS
    ]
    labels = list(range(orders)) * len(frames)
    splits = divided(texts, labels, train)
    how = f"as written, seed {seed}, max_distance {max_distance}"
    notes = {"source": SOURCE, "split": how}
    return Corpus("order", splits, list(ORDER_NAMES), notes, chance=1 / orders)


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


LETTERS = "abcdefghijklmnop"
MONTHS = (
    "January February March April May June July August September October November December"
).split()
FIRST_DAY, DAYS = datetime.date(1900, 1, 1).toordinal(), 73_000  # some two centuries


def _letters(name: str, answer: Callable[[Words], Iterable[str]]) -> Callable[..., Pairs]:
    """What makes pairs of letters and the answer to them."""

    def load(
        *, seed: int = 0, train: int = 4000, test: int = 400, shortest: int = 3, longest: int = 10
    ) -> Pairs:
        """The pairs of that seed, of so many letters; ZooError for impossible values."""
        need(name, shortest=(shortest, 1), longest=(longest, shortest))

        def draw_pair(draw: Draw) -> tuple[str, str]:
            length = shortest + draw.below(longest - shortest + 1)
            words = [draw.pick(LETTERS) for _ in range(length)]
            return " ".join(words), " ".join(answer(words))

        # At most a tenth of all texts, or drawing until enough differ would take too long.
        most = sum(len(LETTERS) ** n for n in range(shortest, longest + 1)) // 10
        return _drawn_pairs(name, draw_pair, most, seed, train, test)

    return load


reverse = _letters("reverse", reversed)
copy = _letters("copy", list)
sort = _letters("sort", sorted)


def dates(*, seed: int = 0, train: int = 4000, test: int = 400) -> Pairs:
    """Days as they are written in English, and as ISO 8601 writes them."""

    def draw_pair(draw: Draw) -> tuple[str, str]:
        day = datetime.date.fromordinal(FIRST_DAY + draw.below(DAYS))
        return f"{day.day} {MONTHS[day.month - 1]} {day.year}", day.isoformat()

    return _drawn_pairs("dates", draw_pair, DAYS, seed, train, test)


def _drawn_pairs(
    name: str, draw_pair: Callable[[Draw], tuple[str, str]], most: int, *sizes: int
) -> Pairs:
    """Pairs of different sources, so that no source is in both splits. sizes: seed, train, test."""
    seed, train, test = sizes
    need(name, train=(train, 1), test=(test, 1))
    if train + test > most:
        raise ZooError(f"{name} has at most {most} pairs in all, not {train + test}")
    draw, different = Draw(seed), dict[str, str]()
    while len(different) < train + test:
        source, target = draw_pair(draw)
        different[source] = target
    splits = divided([*different], [*different.values()], train)
    return Pairs(name, splits, notes={"source": "built-in task", "split": "as written"})
