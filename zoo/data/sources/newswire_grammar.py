"""The grammar of newswire: words and sentences of ``newswire.toml``, inflection, articles."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
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
_DOUBLING = frozenset("ban bat trim scan plan drop stop star ship admit".split())
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
    if noun in _PLURAL:
        return _PLURAL[noun]
    if noun.endswith(("sman", "swoman", "tsman")):
        return noun[:-2] + "en"
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def third(verb: str) -> str:
    """``scores``, of ``score``."""
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "ch", "sh", "o")) else "s")


def past(verb: str) -> str:
    """``scored``, of ``score``; the participle is the same."""
    if verb in _PAST:
        return _PAST[verb]
    if verb in _DOUBLING:
        return verb + verb[-1] + "ed"
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    return verb + "ed"


def gerund(verb: str) -> str:
    """``scoring``, of ``score``."""
    if verb in _DOUBLING or verb in ("win", "bid"):
        return verb + verb[-1] + "ing"
    return (verb[:-1] if verb.endswith("e") and verb[-2] != "e" else verb) + "ing"


def with_articles(words: list[str]) -> list[str]:
    """The words, with ``an`` for ``a`` before a vowel sound."""
    follows = [*words[1:], ""]
    return [
        "an" if word == "a" and _starts_with_vowel_sound(after) else word
        for word, after in zip(words, follows, strict=True)
    ]


def _starts_with_vowel_sound(word: str) -> bool:
    """Whether a word begins with a vowel sound; a few written vowels are not one."""
    return word[:1] in tuple(_VOWELS) and not word.startswith(("uni", "use", "euro", "one"))
