"""Built-in tasks with a known answer, for encoder-decoders: seeded, no source in both splits."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable

from zoo.data.sources.corpus import Examples, Pairs
from zoo.data.sources.diagnostics.drawing import Draw
from zoo.errors import ZooError

Pair = tuple[str, str]

SYMBOLS = "abcdefghijklmnop"
MONTHS = (
    "January February March April May June July August September October November December"
).split()
FIRST_DAY, DAYS = datetime.date(1900, 1, 1).toordinal(), 73_000  # some two centuries


def symbols(name: str, answer: Callable[[list[str]], Iterable[str]]) -> Callable[..., Pairs]:
    """The ``load`` of pairs of symbols and the answer to them."""

    def load(
        *, seed: int = 0, train: int = 4000, test: int = 400, shortest: int = 3, longest: int = 10
    ) -> Pairs:
        """The pairs of that seed, of so many symbols; ZooError for impossible values."""
        if not 1 <= shortest <= longest:
            raise ZooError(f"{name} needs 1 <= shortest <= longest, not {shortest} and {longest}")
        # At most a tenth of all texts, or drawing until enough differ would take too long.
        most = sum(len(SYMBOLS) ** n for n in range(shortest, longest + 1)) / 10
        if train + test > most:
            raise ZooError(f"{name} has no {train + test} different texts of that length")

        def draw_pair(draw: Draw) -> Pair:
            length = shortest + draw.below(longest - shortest + 1)
            words = [draw.pick(SYMBOLS) for _ in range(length)]
            return " ".join(words), " ".join(answer(words))

        return _drawn(name, draw_pair, seed, train, test)

    return load


reverse = symbols("reverse", reversed)
copy = symbols("copy", list)
sort = symbols("sort", sorted)


def dates(*, seed: int = 0, train: int = 4000, test: int = 400) -> Pairs:
    """Days as they are written in English, and as ISO 8601 writes them."""
    if train + test > DAYS:
        raise ZooError(f"dates has {DAYS} pairs, not {train + test}")

    def draw_pair(draw: Draw) -> Pair:
        day = datetime.date.fromordinal(FIRST_DAY + draw.below(DAYS))
        return f"{day.day} {MONTHS[day.month - 1]} {day.year}", day.isoformat()

    return _drawn("dates", draw_pair, seed, train, test)


def _drawn(name: str, draw_pair: Callable[[Draw], Pair], seed: int, train: int, test: int) -> Pairs:
    """Pairs of different sources, so that no source is in both splits."""
    if min(train, test) < 1:
        raise ZooError(f"{name} needs train and test >= 1, not {train} and {test}")
    draw = Draw(seed)
    different: dict[str, str] = {}
    while len(different) < train + test:
        source, target = draw_pair(draw)
        different[source] = target
    sources, targets = [*different], [*different.values()]
    splits = {
        "train": Examples(sources[:train], targets[:train]),
        "test": Examples(sources[train:], targets[train:]),
    }
    return Pairs(name, splits, notes={"source": "built-in task", "split": "as written"})
