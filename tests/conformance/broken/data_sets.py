"""Data sets that are wrong in one way each."""

from __future__ import annotations

import datetime
import os
import random

from specimens import Specimens, registering

from zoo.data.sources.corpus import Corpus, Examples, TaggedCorpus

broken = Specimens("data", "text-labels")
zoo_register = registering(broken)


TEXTS = [f"document {number}" for number in range(20)]
TRAIN, TEST = TEXTS[:12], TEXTS[12:]


def corpus(train=TRAIN, test=TEST, test_labels=(1, 0) * 4) -> Corpus:
    splits = {"train": Examples(train, [0, 1] * 6), "test": Examples(test, test_labels)}
    return Corpus("tiny", splits, ["left", "right"])


@broken.caught_by("data", "gives a builtins.dict, not a zoo.data.Corpus")
def dictionary():
    return {"train": [], "test": []}


@broken.caught_by("data", "declares none of text-labels, token-labels", only=())
def declares_nothing():
    return corpus()


@broken.caught_by("data", "declares text-labels and text of", also=("text",))
def declares_two():
    return corpus()


@broken.caught_by("data", "no test document is 'B'", only=("token-labels",))
def tag_without_test():
    texts = [["one", "two"], ["three", "four"]]
    splits = {"train": (texts, [[0, 1], [1, -100]]), "test": (texts[:1], [[0, -100]])}
    return TaggedCorpus("tiny", splits, ["A", "B"])


@broken.caught_by("data", "no test document is 'right'")
def class_without_test():
    return corpus(test_labels=[0] * 8)


@broken.caught_by("data", "loaded again: \\d+ of 12 train texts differ")
def shuffled_anew():
    return corpus(random.sample(TRAIN, len(TRAIN)))


@broken.caught_by("data", "8 of 8 test documents")
def test_in_train():
    return corpus(test=TRAIN[:8])


@broken.caught_by("data", "load other data")
def ordered_by_hash():
    words = {f"word{number}" for number in range(12)}
    return corpus(list(words))


@broken.caught_by("data", "load other data")
def names_its_folder():
    return corpus([f"{text} of {os.getcwd()}" for text in TRAIN])


@broken.caught_by("data", "load other data")
def of_this_year():
    year = datetime.date.today().year
    return corpus([f"{text} in {year}" for text in TRAIN])


_DRAWN = random.random()


@broken.caught_by("data", "load other data")
def drawn_when_imported():
    return corpus([f"{text} {_DRAWN}" for text in TRAIN])


@broken.caught_by("data", "'seed' changes nothing", parameters={"seed": 0})
def seed_ignored(seed=0):
    return corpus()


@broken.caught_by("data", "nearly every text has the name or the number of its class")
def label_written_in_front():
    train = [f"{name}: {text}" for name, text in zip(["left", "right"] * 6, TRAIN, strict=True)]
    test = [f"{name}: {text}" for name, text in zip(["right", "left"] * 4, TEST, strict=True)]
    return corpus(train, test)


@broken.caught_by("data", "the number of its class")
def label_as_a_number():
    texts = [f"{word} __label__{number % 2}" for number, word in enumerate("abcdefghijkl")]
    tests = [f"{word} __label__{number % 2}" for number, word in enumerate("mnopqrst")]
    return corpus(texts, tests, [0, 1] * 4)
