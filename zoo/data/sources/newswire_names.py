"""Invented people, organisations and places, so that newswire has as many rare words as news."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from zoo.data.sources.newswire_words import listed

_ONSETS = listed(
    "b c d f g h j k l m n p r s t v w br ch cl cr dr fl gr kl kn pl pr sh sl st th tr"
)
_NUCLEI = listed("a e i o u a e i o ai ea ee ie oo ou")
_CODAS = listed("n r l s t m nd rt ck ll rn st x ng lm rk ns d")
_SURNAME_ENDS = listed(
    "son ley ton man er ard ovic ini ez sen ham well by ford stein ard ucci enko"
)
_PLACE_ENDS = listed("ton burg ford ville port stad ia mouth field haven grad ova bridge minster")
_COMPANY_ENDS = listed(
    """group holdings bank united media systems city international records industries
institute rovers motors trust labs foundation energy partners theatre union council"""
)


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
        return "".join(pick(_ONSETS) + pick(_NUCLEI) for _ in range(count))

    def distinct(count: int, sort: str) -> tuple[str, ...]:
        names: list[str] = []
        while len(names) < count:
            stem = syllables(1 + int(draw() * 2)) + pick(_CODAS)
            if sort == "given":
                name = stem + pick(["a", "e", "o", "in", "", ""])
            elif sort == "surname":
                name = stem + pick(_SURNAME_ENDS)
            elif sort == "place":
                name = stem + pick(_PLACE_ENDS)
            else:
                name = f"{stem}{pick(['', 'o', 'ex', 'is'])} {pick(_COMPANY_ENDS)}"
            if name not in taken:
                taken.add(name)
                names.append(name)
        return tuple(names)

    return Names(
        distinct(given, "given"),
        distinct(surnames, "surname"),
        distinct(organisations, "organisation"),
        distinct(places, "place"),
    )
