"""Newswire: a built-in corpus of generated news stories, for machines without network.

Five topics, 1,225 train and 1,000 test stories, with the lengths of BBC news. Every word comes from
a small grammar, ``newswire.toml``, and one seed: the same stories on every machine. A story begins
with its topic, as news does. Topics share words, stories contain paragraphs about another topic,
and a few are about two topics in equal parts, so that a good classifier scores high but not 100%.
Names are made of syllables, so that newswire has as many rare words as news.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from zoo.data.sources.corpus import Corpus
from zoo.data.sources.diagnostics.drawing import Draw, divided, need

Words = dict[str, list[str]]


def load(*, seed: int = 0, train: int = 1225, test: int = 1000) -> Corpus:
    """The corpus of that seed, with so many stories; ZooError for too few."""
    writer = StoryWriter(seed)
    fewest, bounds = 2 * len(writer.topics), list(accumulate(writer.how["shares"]))[:-1]
    need("newswire", train=(train, fewest), test=(test, 1))
    texts, labels = [], []
    for number in range(train + test):
        # The first stories take the topics in turns, so that every topic is in train.
        topic = number % len(writer.topics) if number < fewest else bisect(bounds, writer.draw())
        texts.append(writer.story(topic))
        labels.append(topic)
    notes = {"source": "built-in grammar", "split": f"as written, seed {seed}"}
    return Corpus("newswire", divided(texts, labels, train, test), writer.topics, notes)


@cache
def grammar() -> dict[str, Any]:
    """The file with the words of each topic, the shared ones and names, as ``words``.

    A sentence is its words; a slot is its letter, and only slots are upper case.
    """
    file = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    words = {"names": {**invented_names(file["names"]), "T": file["times"]["phrases"].split()}}
    for source, lists in {**file["topics"], "shared": file["shared"]}.items():
        nouns, adjectives, verbs, roles = (
            lists[kind].split() for kind in ("nouns", "adjectives", "verbs", "roles")
        )
        words[source] = {"N": nouns, "A": adjectives, "B": verbs, "R": roles}
        words[source] |= {"M": [*map(with_s, nouns)], "H": [*map(with_s, verbs)]}
        words[source] |= {"D": [*map(past, verbs)], "G": [*map(gerund, verbs)]}
    for kind, patterns in file["sentences"].items():
        file["sentences"][kind] = [pattern.replace("*", "").split() for pattern in patterns]
    return {**file, "words": words}


def with_s(word: str) -> str:
    """The plural of a noun and the third person of a verb."""
    if re.search("[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search("(s|x|z|ch|sh)$", word) else f"{word}s"


def past(verb: str) -> str:
    """The past of a regular verb."""
    if re.search("[^aeiou]y$", verb):
        return f"{verb[:-1]}ied"
    return f"{verb}d" if verb.endswith("e") else f"{_doubled(verb)}ed"


def gerund(verb: str) -> str:
    """The form in -ing of a regular verb."""
    return f"{verb[:-1]}ing" if re.search("[^e]e$", verb) else f"{_doubled(verb)}ing"


def _doubled(verb: str) -> str:
    """A verb of one syllable with a short vowel has its last consonant twice: planned, shipping."""
    return re.sub("^([^aeiou]*[aeiou])([bdglmnprt])$", r"\1\2\2", verb)


def invented_names(parts: dict[str, Any]) -> Words:
    """Given names, surnames, organisations and places, the same for every seed of stories."""
    draw, names = Draw(0), dict[str, list[str]]()
    onsets, vowels, codas = (parts[part].split() for part in ("onsets", "vowels", "codas"))
    syllable = [onsets, vowels, ["", "", "", *codas]]
    for sort, (count, longest, endings) in parts["sorts"].items():
        different: dict[str, None] = {}
        while len(different) < count:
            pieces = [draw.pick(part) for part in syllable * (1 + draw.below(longest))]
            different["".join(pieces) + draw.pick(endings.split(","))] = None
        names[sort] = list(different)
    return names


class StoryWriter:
    """Generates stories, one after another, from one seed."""

    def __init__(self, seed: int) -> None:
        self.draw = Draw(seed).random
        file = grammar()
        self.words, self.sentences, self.how = file["words"], file["sentences"], file["stories"]
        self.topics = list(file["topics"])

    def pick(self, choices: Sequence[str]) -> str:
        """One of the choices; the first ones are the most frequent. An underscore is a space."""
        x = self.draw()
        return choices[int(x * x * len(choices))].replace("_", " ")

    def between(self, low: float, high: float) -> float:
        """A number from low to high."""
        return low + (high - low) * self.draw()

    def length(self) -> int:
        """The number of words the next story should have."""
        x = self.draw()
        (low, shortest), (high, longest) = next(
            p for p in pairwise(self.how["lengths"]) if x < p[1][0]
        )
        return int(shortest + (longest - shortest) * (x - low) / (high - low))

    def story(self, topic: int) -> str:
        """One story mainly about the topic, in lower case, punctuation set apart by spaces."""
        length, names = self.length(), self.story_names(topic)
        other = (topic + 1 + int(self.draw() * (len(self.topics) - 1))) % len(self.topics)
        mixed = self.draw() < self.how["mixed"]
        topical = self.between(*self.how["topical_paragraph"])
        digression = self.between(*self.how["mixed_digression" if mixed else "digression"])
        words: list[str] = []
        while len(words) < length:
            # The first paragraph says what the story is about.
            about: int | None = None if words else topic
            if words and self.draw() < topical:
                about = other if self.draw() < digression else topic
            for _ in range(1 + int(self.draw() * 3)):
                self.sentence(words, about, names)
        return " ".join(with_articles(words[:length]))

    def story_names(self, topic: int) -> Words:
        """The people (P), organisations (O) and places (L) of one story."""
        every = self.words["names"]

        def some(sort: str) -> list[str]:
            own, share = every[sort][topic :: len(self.topics)], self.how["own_name"]
            return [self.pick(own if self.draw() < share else every[sort]) for _ in range(3)]

        people = list[str]()
        for surname in some("surnames"):
            people += [f"{self.pick(every['forenames'])} {surname}", f"mr {surname}", surname]
        return {"P": people, "O": some("organisations"), "L": some("places"), "T": every["T"]}

    def sentence(self, words: list[str], about: int | None, names: Words) -> None:
        """Add the words of one sentence, about a topic or, for None, a neutral one."""
        patterns = self.sentences["neutral" if about is None else "topical"]
        for word in patterns[int(self.draw() * len(patterns))]:
            if not word.isupper():
                words.append(word)
            elif word in names:
                words += self.pick(names[word]).split()
            elif word == "Q":
                words.append(self.quantity())
            else:
                topical = about is not None and self.draw() < self.how["topical_word"]
                source = self.topics[about or 0] if topical else "shared"
                words += self.pick(self.words[source][word]).split()

    def quantity(self) -> str:
        """A number of one of three formats."""
        x = self.draw()
        if x < 0.5:
            return str(int(self.between(2, 100)))
        if x < 0.8:
            return f"{int(self.between(2, 90))}.{int(self.between(0, 10))}"
        return f"{int(self.between(1, 100))},{int(self.between(100, 1000))}"


def with_articles(words: list[str]) -> list[str]:
    """The words, with ``an`` for ``a`` before a vowel sound."""
    # Not before "uni", "use", "euro" and "one", which are not spoken with a vowel.
    spoken = re.compile("(?!uni|use|euro|one)[aeiou]")
    pairs = pairwise([*words, ""])
    return ["an" if word == "a" and spoken.match(after) else word for word, after in pairs]
