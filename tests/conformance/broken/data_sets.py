"""Data sets that are wrong in one way each."""

from __future__ import annotations

import datetime
import os
import random

from specimens import Specimens, registering

from zoo.data.sources.corpus import Corpus, TaggedCorpus

broken = Specimens("data", "text-labels")
zoo_register = registering(broken)


def corpus(**changes) -> Corpus:
    texts = [f"document {number}" for number in range(20)]
    parts = {
        "name": "tiny",
        "train_texts": texts[:12],
        "train_labels": [0, 1] * 6,
        "test_texts": texts[12:],
        "test_labels": [1, 0] * 4,
        "label_names": ["left", "right"],
    }
    return Corpus(**{**parts, **changes})


@broken.caught_by("holds", "gives a builtins.dict, not a zoo.data.Corpus")
def dictionary():
    return {"train": [], "test": []}


@broken.caught_by("holds", "declares none of text-labels, token-labels", only=())
def declares_nothing():
    return corpus()


@broken.caught_by("holds", "declares text-labels and text of", also=("text",))
def declares_two():
    return corpus()


@broken.caught_by("corpus", "no test document is 'B'", only=("token-labels",))
def tag_without_test():
    texts = [["one", "two"], ["three", "four"]]
    return TaggedCorpus("tiny", texts, [[0, 1], [1, -100]], texts[:1], [[0, -100]], ["A", "B"])


@broken.caught_by("corpus", "no test document is 'right'")
def class_without_test():
    return corpus(test_labels=[0] * 8)


@broken.caught_by("corpus", "train texts are a tuple")
def texts_in_a_tuple():
    return corpus(train_texts=tuple(corpus().train_texts))


@broken.caught_by("everywhere", "loaded again: \\d+ of 12 train_texts differ")
def shuffled_anew():
    texts = corpus().train_texts
    random.shuffle(texts)
    return corpus(train_texts=texts)


@broken.caught_by("leakage", "8 of 8 test documents")
def test_in_train():
    return corpus(test_texts=corpus().train_texts[:8])


@broken.caught_by("everywhere", "load other data")
def ordered_by_hash():
    words = {f"word{number}" for number in range(12)}
    return corpus(train_texts=list(words))


@broken.caught_by("everywhere", "load other data")
def names_its_folder():
    return corpus(train_texts=[f"{text} of {os.getcwd()}" for text in corpus().train_texts])


@broken.caught_by("everywhere", "load other data")
def of_this_year():
    year = datetime.date.today().year
    return corpus(train_texts=[f"{text} in {year}" for text in corpus().train_texts])


_DRAWN = random.random()


@broken.caught_by("everywhere", "load other data")
def drawn_when_imported():
    return corpus(train_texts=[f"{text} {_DRAWN}" for text in corpus().train_texts])


@broken.caught_by("parameters-act", "'seed' changes nothing", parameters={"seed": 0})
def seed_ignored(seed=0):
    return corpus()


@broken.caught_by("label-in-text", "the name of its class")
def label_written_in_front():
    made = corpus()
    names = [made.label_names[label] for label in made.train_labels]
    tests = [made.label_names[label] for label in made.test_labels]
    return corpus(
        train_texts=[f"{n}: {text}" for n, text in zip(names, made.train_texts, strict=True)],
        test_texts=[f"{n}: {text}" for n, text in zip(tests, made.test_texts, strict=True)],
    )


@broken.caught_by("label-in-text", "the number of its class")
def label_as_a_number():
    texts = [f"{word} __label__{number % 2}" for number, word in enumerate("abcdefghijkl")]
    tests = [f"{word} __label__{number % 2}" for number, word in enumerate("mnopqrst")]
    return corpus(train_texts=texts, test_texts=tests, test_labels=[0, 1] * 4)
