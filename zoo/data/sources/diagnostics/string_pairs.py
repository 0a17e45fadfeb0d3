"""Built-in tasks with a known answer, for encoder-decoders: seeded, no source in both splits."""

from __future__ import annotations

import datetime
import functools
import random
from collections.abc import Callable, Iterable

from zoo.data.sources.corpus import Pair, Pairs
from zoo.errors import ZooError

Draw = Callable[[], float]
Answer = Callable[[list[str]], Iterable[str]]

SYMBOLS = "abcdefghijklmnop"
MONTHS = (
    "January February March April May June July August September October November December"
).split()
FIRST_DAY, DAYS = datetime.date(1900, 1, 1).toordinal(), 73_000  # some two centuries


def reverse(
    *, seed: int = 0, train: int = 4000, test: int = 400, shortest: int = 3, longest: int = 10
) -> Pairs:
    """Symbols, and the same symbols from last to first."""
    return _pairs("reverse", reversed, seed, train, test, shortest, longest)


def copy(
    *, seed: int = 0, train: int = 4000, test: int = 400, shortest: int = 3, longest: int = 10
) -> Pairs:
    """Symbols, and the same symbols again."""
    return _pairs("copy", list, seed, train, test, shortest, longest)


def sort(
    *, seed: int = 0, train: int = 4000, test: int = 400, shortest: int = 3, longest: int = 10
) -> Pairs:
    """Symbols, and the same symbols in alphabetical order."""
    return _pairs("sort", sorted, seed, train, test, shortest, longest)


def dates(*, seed: int = 0, train: int = 4000, test: int = 400) -> Pairs:
    """Days as they are written in English, and as ISO 8601 writes them."""
    _refuse_empty("dates", train, test)
    if train + test > DAYS:
        raise ZooError(f"dates has {DAYS} pairs, not {train + test}")
    return _drawn("dates", _date, seed, train, test)


def _pairs(
    name: str, answer: Answer, seed: int, train: int, test: int, shortest: int, longest: int
) -> Pairs:
    """Pairs of symbols; ZooError for impossible values."""
    _refuse_empty(name, train, test)
    if not 1 <= shortest <= longest:
        raise ZooError(f"{name} needs 1 <= shortest <= longest, not {shortest} and {longest}")
    # At most a tenth of all texts, or drawing until enough are different would take too long.
    if train + test > sum(len(SYMBOLS) ** n for n in range(shortest, longest + 1)) / 10:
        raise ZooError(f"{name} has no {train + test} different texts of that length")
    draw_pair = functools.partial(_symbols, answer=answer, shortest=shortest, longest=longest)
    return _drawn(name, draw_pair, seed, train, test)


def _refuse_empty(name: str, train: int, test: int) -> None:
    if min(train, test) < 1:
        raise ZooError(f"{name} needs train and test >= 1, not {train} and {test}")


def _drawn(name: str, draw_pair: Callable[[Draw], Pair], seed: int, train: int, test: int) -> Pairs:
    """Pairs of different sources, so that no source is in both splits."""
    # Of all its methods only random() is promised to stay the same from Python to Python.
    draw = random.Random(seed).random
    found: dict[str, str] = {}
    while len(found) < train + test:
        source, target = draw_pair(draw)
        found[source] = target
    pairs = list(found.items())
    notes = {"source": "built-in task", "split": "as written"}
    return Pairs(name, pairs[:train], pairs[train:], notes)


def _symbols(draw: Draw, *, answer: Answer, shortest: int, longest: int) -> Pair:
    """Some symbols, and the answer to them."""
    length = shortest + int(draw() * (longest - shortest + 1))
    words = [SYMBOLS[int(draw() * len(SYMBOLS))] for _ in range(length)]
    return " ".join(words), " ".join(answer(words))


def _date(draw: Draw) -> Pair:
    """A day as it is written in English, and as ISO 8601 writes it."""
    day = datetime.date.fromordinal(FIRST_DAY + int(draw() * DAYS))
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}", day.isoformat()
