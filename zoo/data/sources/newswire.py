"""Newswire: an embedded corpus of made-up news stories, for where there is no network.

Five topics, 1,225 train and 1,000 test stories, as long and as unevenly long as those of BBC news.
Every word comes from a small grammar and one seed: the same stories on every machine. Topics share
words, stories digress into other topics, and a few sit between two, so that a good classifier
comes close to the top and does not reach it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, pairwise

from zoo.data.sources import newswire_grammar as grammar
from zoo.data.sources.corpus import Corpus
from zoo.data.sources.newswire_names import Names, invent
from zoo.data.sources.newswire_words import SHARED, TIMES, TOPICS, Words
from zoo.errors import ZooError

LABEL_NAMES = sorted(TOPICS)
# Shares of the topics among the stories.
SHARES = (0.17, 0.19, 0.24, 0.23, 0.17)
# Words of a story at these quantiles, with straight lines between: random.lognormvariate would
# lean on the machine's own logarithm.
LENGTHS = (
    (0.0, 95), (0.05, 160), (0.25, 245), (0.5, 335), (0.75, 470), (0.95, 735), (0.99, 1150),
    (0.999, 2500), (1.0, 4000),
)  # fmt: skip

# What makes it hard. Tuned on TF-IDF with logistic regression (0.96 to 0.98) and on a small
# encoder (0.90 to 0.96); change one and the published tables no longer compare.
TOPICAL_WORD = 0.6  # a content word of a topical sentence that is of its topic, not of all
OWN_NAME = 0.4  # a name in the cast that is one of the topic's own
TOPICAL_PARAGRAPH = (0.5, 0.9)  # share of a story's paragraphs that are about a topic at all
DIGRESSION = (0.0, 0.22)  # share of these that are about another topic
TORN = 0.04  # stories that sit between two topics
TORN_DIGRESSION = (0.42, 0.52)

# Names are the world the stories are set in: the same for every seed.
WORLD_SEED = 1957


def load(*, seed: int = 0, train: int = 1225, test: int = 1000) -> Corpus:
    """The stories of that seed, as many as asked for; ZooError where they cannot be divided."""
    fewest = 2 * len(LABEL_NAMES)
    if train < fewest or test < 1:
        raise ZooError(f"newswire needs train >= {fewest} and test >= 1, not {train} and {test}")
    writer = TokenScorer(seed)
    texts, labels = [], []
    for number in range(train + test):
        # The first stories go round, so that the smallest corpus has every topic in train.
        topic = number % len(LABEL_NAMES) if number < fewest else writer.topic()
        texts.append(writer.story(topic))
        labels.append(topic)
    return Corpus(
        name="newswire",
        train_texts=texts[:train],
        train_labels=labels[:train],
        test_texts=texts[train:],
        test_labels=labels[train:],
        label_names=list(LABEL_NAMES),
        notes={"source": "built-in grammar", "split": f"as written, seed {seed}"},
    )


class Vocabulary:
    """A topic's words in all the forms that sentences ask for."""

    def __init__(self, words: Words) -> None:
        self.forms: dict[str, Sequence[str]] = {
            "N": words.nouns,
            "M": [grammar.plural(noun) for noun in words.nouns],
            "A": words.adjectives,
            "B": words.verbs,
            "D": [grammar.past(verb) for verb in words.verbs],
            "H": [grammar.third(verb) for verb in words.verbs],
            "G": [grammar.gerund(verb) for verb in words.verbs],
            "R": words.roles,
        }


@cache
def _vocabularies() -> tuple[list[Vocabulary], Vocabulary]:
    return [Vocabulary(TOPICS[name]) for name in LABEL_NAMES], Vocabulary(SHARED)


@cache
def _names() -> Names:
    return invent(WORLD_SEED, given=220, surnames=1600, organisations=700, places=400)


class TokenScorer:
    """Writes one story after another from one seed."""

    def __init__(self, seed: int) -> None:
        # Of all its methods only random() is promised to stay the same from Python to Python.
        self.draw: Callable[[], float] = random.Random(seed).random
        self.topics, self.shared = _vocabularies()
        self.names = _names()
        parts = len(LABEL_NAMES)
        self.own_names = [self.names.part(i, parts) for i in range(parts)]
        self.topical = [grammar.parsed(s) for s in grammar.TOPICAL_SENTENCES]
        self.neutral = [grammar.parsed(s) for s in grammar.NEUTRAL_SENTENCES]

    def pick(self, choices: Sequence[str]) -> str:
        """One of the choices, the earlier the likelier."""
        x = self.draw()
        return choices[int(x * x * len(choices))]

    def between(self, low: float, high: float) -> float:
        """A number from low to high."""
        return low + (high - low) * self.draw()

    def topic(self) -> int:
        """The topic of the next story."""
        x = self.draw()
        return sum(x >= bound for bound in list(accumulate(SHARES))[:-1])

    def length(self) -> int:
        """The number of words the next story should have."""
        x = self.draw()
        for (low, shortest), (high, longest) in pairwise(LENGTHS):
            if x < high:
                return int(shortest + (longest - shortest) * (x - low) / (high - low))
        return LENGTHS[-1][1]

    def story(self, topic: int) -> str:
        """One story mainly about the topic, in lower case, punctuation set apart by spaces."""
        length, cast = self.length(), self.cast(topic)
        other = (topic + 1 + int(self.draw() * (len(LABEL_NAMES) - 1))) % len(LABEL_NAMES)
        torn = self.draw() < TORN
        topical = self.between(*TOPICAL_PARAGRAPH)
        digression = self.between(*(TORN_DIGRESSION if torn else DIGRESSION))
        words: list[str] = []
        while len(words) < length:
            about: int | None = None
            if self.draw() < topical:
                about = other if self.draw() < digression else topic
            for _ in range(1 + int(self.draw() * 3)):
                self.sentence(words, about, cast)
        return " ".join(grammar.with_articles(words[:length]))

    def cast(self, topic: int) -> dict[str, list[str]]:
        """The people, organisations and places of one story."""

        def some(sort: str, count: int) -> list[str]:
            pools = (self.own_names[topic], self.names)
            return [self.pick(getattr(pools[self.draw() >= OWN_NAME], sort)) for _ in range(count)]

        people = [
            form
            for surname in some("surnames", 3)
            for form in (f"{self.pick(self.names.given)} {surname}", f"mr {surname}", surname)
        ]
        return {"P": people, "O": some("organisations", 3), "L": some("places", 3)}

    def sentence(self, words: list[str], about: int | None, cast: dict[str, list[str]]) -> None:
        """Add the words of one sentence: about a topic, or about nothing in particular."""
        patterns = self.neutral if about is None else self.topical
        for word in patterns[int(self.draw() * len(patterns))]:
            if not word.isupper():
                words.append(word)
            elif word in cast:
                words += self.pick(cast[word]).split()
            elif word == "T":
                words += self.pick(TIMES).split()
            elif word == "Q":
                words.append(self.quantity())
            else:
                own = about is not None and self.draw() < TOPICAL_WORD
                source = self.topics[about] if own and about is not None else self.shared
                words += self.pick(source.forms[word]).split()

    def quantity(self) -> str:
        """A number as news writes it."""
        x = self.draw()
        if x < 0.5:
            return str(int(self.between(2, 100)))
        if x < 0.8:
            return f"{int(self.between(2, 90))}.{int(self.between(0, 10))}"
        return f"{int(self.between(1, 100))},{int(self.between(100, 1000))}"
