"""The grammar of newswire: regular inflection, and sentences with slots for words.

In a sentence each ``*X`` is a slot: N noun, M plural noun, A adjective, B base verb, D past or
participle, H third person, G gerund, R role, P person, O organisation, L place, T time, Q quantity.
"""

from __future__ import annotations

from zoo.data.sources.newswire_words import listed

_VOWELS = "aeiou"
_DOUBLING = frozenset(listed("ban bat trim scan plan drop stop star ship admit"))
_PAST = {"say": "said", "win": "won", "bid": "bid", "strike": "struck"}
_PLURAL = {
    "analysis": "analyses",
    "person": "people",
    **{word: word for word in listed("people news data earnings innings yen series software")},
}

TOPICAL_SENTENCES = (
    "the *A *N *D the *N *T , *R *P said .",
    "*R *P *D a *A *N for the *N in *L .",
    "*O *D its *N *T after the *M of *O were *D .",
    "*M and *M are expected to *B the *N , *P told reporters in *L .",
    "the *N , which *D *Q *M *T , will *B *A *M in *L .",
    '" we will *B the *N and *B the *M , " said *P , the *R of *O .',
    "*P *D the *N despite a *A *N .",
    "*G the *N would *B *M , according to the *R .",
    "the *A *N has *D more than *Q *M since *O *D the *N .",
    "*O , based in *L , is *G a *A *N that *H the *N .",
    "a *N of *M *D *T and the *A *N was *D by *P .",
    "few *M have *D as many *M as *P , whose *N *D the *N *T .",
    "the *R *D that the *N could *B without *A *M .",
    "with *Q *M *D in *L , the *N is now *A .",
    "*P *H the *N more than any *R , and the *M *B for it .",
    "both the *N and the *N were *D *T as *A *M *D .",
)
NEUTRAL_SENTENCES = (
    "the *N comes after a *A *N *T .",
    '*P said the *N was " a *A *N " and that he hoped to *B it *T .',
    "it is the *A *N in *Q years .",
    '" it is a *A *N and we have to *B it , " *P added .',
    "a *R for *O said the *N would *B *T .",
    "there was no *A *N from *O *T .",
    "about *Q *M in *L *D the *N *T .",
    "*P , who is *Q , has *D a *A *N with *O .",
    "but the *N remains *A , and *M in *L *B more *M .",
    "she *D that the *M had been *D before the *N .",
    "*O and *O have *D their *N , and the *N is *A .",
    "in a *N *D *T , the *R *D a *A *N for *M .",
    "the *N has *D *M across *L , where *M *D *T .",
    '" nobody should *B the *N , " the *R said .',
)


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


def parsed(sentence: str) -> list[str]:
    """The sentence's words; a slot is its letter, and only slots are upper case."""
    return [word.removeprefix("*") for word in sentence.split()]


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
