"""Data sets that are wrong in one way each."""

from __future__ import annotations

import random

from specimens import Specimens

from zoo import hookimpl
from zoo.data.sources.corpus import Corpus
from zoo.data.sources.tagged_corpus import TaggedCorpus
from zoo.registry import Register

broken = Specimens("data", "text-labels")


@hookimpl
def zoo_register(register: Register) -> None:
    broken.register(register)


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


@broken.caught_by("holds", "Corpus, not a zoo.data.TaggedCorpus", only=("token-labels",))
def texts_as_tokens():
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


@broken.caught_by("same-again", "train_texts differ")
def shuffled_anew():
    texts = corpus().train_texts
    random.shuffle(texts)
    return corpus(train_texts=texts)


@broken.caught_by("leakage", "8 of 8 test documents")
def test_in_train():
    return corpus(test_texts=corpus().train_texts[:8])


@broken.caught_by("parameters", "default is 0", parameters={"seed": 1})
def another_default(seed=0):
    return corpus()
