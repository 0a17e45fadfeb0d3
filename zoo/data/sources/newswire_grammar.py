"""The grammar of newswire: words and sentences of ``newswire.toml``, inflection, articles, names.

The names are invented, so that newswire has as many rare words as news.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

Words = Mapping[str, tuple[str, ...]]


def _listed(texts: Mapping[str, str]) -> Words:
    """The words of each text; one with an underscore is a phrase."""
    return {
        name: tuple(word.replace("_", " ") for word in text.split()) for name, text in texts.items()
    }


_FILE = tomllib.loads(Path(__file__).with_name("newswire.toml").read_text(encoding="utf-8"))
# Each with its nouns, verbs, adjectives and roles.
TOPICS = {name: _listed(texts) for name, texts in _FILE["topics"].items()}
SHARED = _listed(_FILE["shared"])
TIMES = _listed(_FILE["times"])["phrases"]
SYLLABLES = _listed(_FILE["names"])
# Each sentence as its words; a slot is its letter, and only slots are upper case.
SENTENCES = {
    name: [[word.removeprefix("*") for word in sentence.split()] for sentence in sentences]
    for name, sentences in _FILE["sentences"].items()
}

_VOWELS = "aeiou"
_DOUBLING = frozenset("ban bat trim scan plan drop stop star ship admit win bid".split())
_PAST = {"say": "said", "win": "won", "bid": "bid", "strike": "struck"}
_PLURAL = {
    "analysis": "analyses",
    "person": "people",
    **{word: word for word in "people news data earnings innings yen series software".split()},
}


def forms(words: Words) -> Words:
    """The words by the slots of a sentence that they fill: N, M, A, B, D, H, G and R."""
    nouns, verbs = words["nouns"], words["verbs"]
    return {
        "N": nouns,
        "M": tuple(map(plural, nouns)),
        "A": words["adjectives"],
        "B": verbs,
        "D": tuple(map(past, verbs)),
        "H": tuple(map(third, verbs)),
        "G": tuple(map(gerund, verbs)),
        "R": words["roles"],
    }


def plural(noun: str) -> str:
    """``ministries``, of ``ministry``; of a phrase the last word changes."""
    if noun.endswith(("sman", "swoman")):
        return noun[:-2] + "en"
    return _PLURAL.get(noun) or (f"{noun}s" if noun.endswith("o") else third(noun))


def third(verb: str) -> str:
    """``scores``, of ``score``."""
    if _ends_in_consonant_y(verb):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "ch", "sh", "o")) else "s")


def past(verb: str) -> str:
    """``scored``, of ``score``; the participle is the same."""
    if verb in _PAST:
        return _PAST[verb]
    stem = f"{verb[:-1]}i" if _ends_in_consonant_y(verb) else _doubled(verb)
    return stem + ("d" if stem.endswith("e") else "ed")


def gerund(verb: str) -> str:
    """``scoring``, of ``score``."""
    return (verb[:-1] if re.search("[^e]e$", verb) else _doubled(verb)) + "ing"


def _doubled(verb: str) -> str:
    return verb + verb[-1] if verb in _DOUBLING else verb


def _ends_in_consonant_y(word: str) -> bool:
    return re.search(f"[^{_VOWELS}]y$", word) is not None


def with_articles(words: list[str]) -> list[str]:
    """The words, with ``an`` for ``a`` before a vowel sound."""
    # Not before "uni", "use", "euro" and "one", which are not spoken with a vowel.
    spoken = re.compile(f"(?!uni|use|euro|one)[{_VOWELS}]")
    return [
        "an" if word == "a" and spoken.match(after) else word
        for word, after in pairwise([*words, ""])
    ]


def invent_names(seed: int, counts: Mapping[str, int]) -> Words:
    """So many given names, surnames, organisations and places, in this order, all distinct.

    They are the same for the same seed on every machine.
    """
    draw = random.Random(seed).random

    def pick(pieces: Sequence[str]) -> str:
        return pieces[int(draw() * len(pieces))]

    ends: dict[str, list[Sequence[str]]] = {
        "given": [["a", "e", "o", "in", "", ""]],
        "surnames": [SYLLABLES["surname_ends"]],
        "organisations": [["", "o", "ex", "is"], [f" {end}" for end in SYLLABLES["company_ends"]]],
        "places": [SYLLABLES["place_ends"]],
    }

    def name(sort: str) -> str:
        syllables = [SYLLABLES["onsets"], SYLLABLES["nuclei"]] * (1 + int(draw() * 2))
        return "".join(map(pick, [*syllables, SYLLABLES["codas"], *ends[sort]]))

    found: dict[str, str] = {}  # the sort of each name
    for sort, count in counts.items():
        fewest = len(found) + count
        while len(found) < fewest:
            found.setdefault(name(sort), sort)
    return {sort: tuple(name for name in found if found[name] == sort) for sort in counts}
