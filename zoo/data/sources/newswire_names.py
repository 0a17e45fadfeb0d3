"""Invented people, organisations and places, so that newswire has as many rare words as news."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zoo.data.sources.newswire_grammar import SYLLABLES


@dataclass(frozen=True)
class Names:
    """A pool of given names, surnames, organisations and places."""

    given: tuple[str, ...]
    surnames: tuple[str, ...]
    organisations: tuple[str, ...]
    places: tuple[str, ...]

    def part(self, index: int, parts: int) -> Names:
        """Every parts-th name from index on, as one topic's own names; all given names."""
        return Names(
            self.given,
            self.surnames[index::parts],
            self.organisations[index::parts],
            self.places[index::parts],
        )


def invent(seed: int, *, given: int, surnames: int, organisations: int, places: int) -> Names:
    """So many distinct names of each sort; the same for the same seed on every machine."""
    draw = random.Random(seed).random
    taken: set[str] = set()

    def pick(pieces: Sequence[str]) -> str:
        return pieces[int(draw() * len(pieces))]

    def syllables(count: int) -> str:
        return "".join(pick(SYLLABLES["onsets"]) + pick(SYLLABLES["nuclei"]) for _ in range(count))

    def distinct(count: int, end: Callable[[], str]) -> tuple[str, ...]:
        names: list[str] = []
        while len(names) < count:
            name = syllables(1 + int(draw() * 2)) + pick(SYLLABLES["codas"]) + end()
            if name not in taken:
                taken.add(name)
                names.append(name)
        return tuple(names)

    return Names(
        distinct(given, lambda: pick(["a", "e", "o", "in", "", ""])),
        distinct(surnames, lambda: pick(SYLLABLES["surname_ends"])),
        distinct(
            organisations,
            lambda: f"{pick(['', 'o', 'ex', 'is'])} {pick(SYLLABLES['company_ends'])}",
        ),
        distinct(places, lambda: pick(SYLLABLES["place_ends"])),
    )
