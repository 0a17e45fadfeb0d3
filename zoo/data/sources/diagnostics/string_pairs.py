"""Built-in tasks with a known answer, for encoder-decoders: seeded, no source in both splits."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from zoo.errors import ZooError
from zoo.registry.naming import bind, split_call

Pair = tuple[str, str]
Draw = Callable[[], float]

SYMBOLS = "abcdefghijklmnop"
MONTHS = (
    "January February March April May June July August September October November December"
).split()
FIRST_DAY, DAYS = datetime.date(1900, 1, 1).toordinal(), 73_000  # some two centuries

# The seed, the pairs of each split, and the symbols of a text; dates have no length.
SIZES = {"seed": 0, "train": 4000, "test": 400}
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    **{name: {**SIZES, "shortest": 3, "longest": 10} for name in ("reverse", "copy", "sort")},
    "dates": SIZES,
}
ANSWERS: Mapping[str, Callable[[list[str]], Iterable[str]]] = {
    "reverse": reversed,
    "copy": list,
    "sort": sorted,
}


def is_built_in(spec: str) -> bool:
    """Whether a spec names one of these tasks."""
    return spec.partition("(")[0].strip() in PARAMETERS


def make_pairs(spec: str) -> tuple[list[Pair], list[Pair]]:
    """Training and test pairs of ``name`` or ``name(param=value)``; no source is in both.

    Raises ZooError for impossible values.
    """
    name, call = split_call("data", spec)
    asked = {**PARAMETERS[name], **bind(f"data '{name}'", PARAMETERS[name], call)}
    train, test = asked["train"], asked["test"]
    if min(train, test) < 1:
        raise ZooError(f"{name} needs train and test >= 1, not {train} and {test}")
    # Of all its methods only random() is promised to stay the same from Python to Python.
    draw = random.Random(asked["seed"]).random
    if name == "dates":
        if train + test > DAYS:
            raise ZooError(f"dates has {DAYS} pairs, not {train + test}")
    else:
        shortest, longest = asked["shortest"], asked["longest"]
        if not 1 <= shortest <= longest:
            raise ZooError(f"{name} needs 1 <= shortest <= longest, not {shortest} and {longest}")
        # At most a tenth of all texts, or drawing until enough are different would take too long.
        if train + test > sum(len(SYMBOLS) ** n for n in range(shortest, longest + 1)) / 10:
            raise ZooError(f"{name} has no {train + test} different texts of that length")
    found: dict[str, str] = {}
    while len(found) < train + test:
        dates = name == "dates"
        source, target = _date(draw) if dates else _symbols(name, draw, shortest, longest)
        found[source] = target
    pairs = list(found.items())
    return pairs[:train], pairs[train:]


def _symbols(name: str, draw: Draw, shortest: int, longest: int) -> Pair:
    """Some symbols, and the answer of the task to them."""
    length = shortest + int(draw() * (longest - shortest + 1))
    words = [SYMBOLS[int(draw() * len(SYMBOLS))] for _ in range(length)]
    return " ".join(words), " ".join(ANSWERS[name](words))


def _date(draw: Draw) -> Pair:
    """A day as it is written in English, and as ISO 8601 writes it."""
    day = datetime.date.fromordinal(FIRST_DAY + int(draw() * DAYS))
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}", day.isoformat()
