"""A data set is what it says, the same everywhere, and its answers must be learned from texts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline

from zoo.conformance.assertions import must
from zoo.conformance.check import check
from zoo.conformance.elsewhere import same_elsewhere
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import Part, parameters_act
from zoo.data.sources.corpus import IGNORED, Corpus, Pairs, TaggedCorpus, Texts
from zoo.errors import ZooError
from zoo.registry import Choice

# What a data set returns, by the capability that it declares, and its splits.
CLASSES = {"text-labels": Corpus, "token-labels": TaggedCorpus, "pairs": Pairs, "text": Texts}
SPLITS: dict[Any, tuple[str, str]] = {Texts: ("train", "validation")}
ANSWERED = 0.95  # the share of answers that a rule finds where it gives them away
WINDOW, NEAR = 13, 0.8  # tokens, and the share of a text's windows that a near copy has
COPIES = 0.1  # some well-known sets have duplicates, which are dropped from train and reported
MANY = 5000  # training texts that are compared, and scored ones
SMALL = 200  # texts of a data set whose size is a parameter, where others are tried
WORD = "word token marker symbol"  # with which a data set says that one word tells the answer
# What an answer may be read from, and the words with which a data set says that it can.
SIGNS: dict[str, tuple[Callable[[Sequence[str]], object], str]] = {
    "the length": (len, "length long short count"),
    "the first word": (lambda words: words[0], "first begin start"),
    "the last word": (lambda words: words[-1], "last end"),
}


@check("data", "data")
def data(part: Part) -> None:
    """It holds what it declares, alike in all splits and everywhere; no answer is given away."""
    declared = [capability for capability in CLASSES if part.can(capability)]
    text = " and ".join(declared) or "none"
    must(len(declared) == 1, f"declares {text} of {', '.join(CLASSES)}")
    try:
        loaded, expected = part.make(), CLASSES[declared[0]]
    except ZooError as error:
        raise CheckSkipped(f"the data cannot be had here: {error}") from None
    own = f"{type(loaded).__module__}.{type(loaded).__name__}"
    must(isinstance(loaded, expected), f"gives a {own}, not a zoo.data.{expected.__name__}")
    for name in SPLITS.get(expected, ("train", "test")):
        must(name in loaded.splits, f"has no {name} split")
    for split, labels in _labels(loaded):
        counts = Counter(labels)
        absent = [name for number, name in enumerate(loaded.label_names) if not counts[number]]
        must(not absent, f"no {split} document is {', '.join(map(repr, absent))}")
    _the_same_again(part, loaded)
    component = part.choice.component
    sizes = {name: SMALL for name in ("train", "test") if component.parameters.get(name)}
    parameters_act(
        part,
        {**part.choice.given, **sizes},
        lambda one, other: one.make().fingerprint != other.make().fingerprint,
    )
    _apart(loaded)
    if isinstance(loaded, Corpus):
        _not_given_away(part, loaded)
        _means_the_same(loaded)


def _labels(loaded: Any) -> list[tuple[str, Sequence[int]]]:
    """The labels of each split that count; none of data without labels."""
    if not isinstance(loaded, Corpus | TaggedCorpus):
        return []
    splits = [(split, examples.targets) for split, examples in loaded.splits.items()]
    if isinstance(loaded, TaggedCorpus):
        return [
            (split, [t for tags in texts for t in tags if t != IGNORED]) for split, texts in splits
        ]
    return splits


def fingerprint(choice: Choice) -> str:
    """Of the documents that a data set gives."""
    text: str = choice.build().fingerprint
    return text


def _the_same_again(part: Part, loaded: Any) -> None:
    """Loaded again, or with another hash seed, folder and date, it gives the same documents."""
    again = part.make()
    for name, split in loaded.splits.items():
        pairs = zip(split.texts, again.splits[name].texts, strict=False)
        differing = sum(a != b for a, b in pairs)
        what = f"{differing} of {len(split.texts)} {name} texts differ"
        must(not differing, f"loaded again: {what}")
    must(loaded.fingerprint == again.fingerprint, "loaded again: the fingerprints differ")
    function = "zoo.conformance.data:fingerprint"
    same_elsewhere(part.choice, part.files, function, loaded.fingerprint, "load other data")


def _words(text: Any) -> list[str]:
    joined = text if isinstance(text, str) else " ".join(text)
    return re.findall(r"\w+|[^\w\s]", joined.casefold().replace("_", " "))


def _apart(loaded: Any) -> None:
    """Few texts of a scored split, or near copies of them, are texts of the training split."""
    train = [_words(text) for text in loaded.train.texts]
    known = {tuple(words) for words in train}
    known |= {window for words in train[:MANY] for window in _windows(words)}
    for other in filter(lambda name: name != "train", loaded.splits):
        copies, texts = 0, loaded.splits[other].texts[:MANY]
        for words in map(_words, texts):
            windows = _windows(words)
            near = sum(window in known for window in windows) >= NEAR * len(windows)
            copies += tuple(words) in known or bool(windows and near)
        must(
            copies <= COPIES * len(texts),
            f"{copies} of {len(texts)} {other} documents are training text, "
            f"or nearly all of their windows of {WINDOW} words are",
        )


def _windows(words: list[str]) -> list[tuple[str, ...]]:
    windows = (tuple(words[i : i + WINDOW]) for i in range(len(words) - WINDOW + 1))
    return [window for window in windows if len(set(window)) > WINDOW // 2]


def _not_given_away(part: Part, loaded: Corpus) -> None:
    """No answer follows from a length, a place or one word, unless the data set says so."""
    component = part.choice.component
    about = f"{component.summary} {component.resolve().__doc__ or ''} {loaded.notes}".casefold()
    train, test = (
        list(zip((_words(text) or [""] for text in split.texts), split.targets, strict=True))
        for split in (loaded.train, loaded.test)
    )
    _no_word_for_a_class([*train, *test], loaded.label_names, about)
    guessing = Counter(loaded.test.targets).most_common(1)[0][1] / len(test)
    for sign, (of, says) in SIGNS.items():
        votes: dict[object, Counter[int]] = defaultdict(Counter)
        for words, label in train:
            votes[of(words)][label] += 1
        answers = {value: counts.most_common(1)[0][0] for value, counts in votes.items()}
        right = sum(answers.get(of(words)) == label for words, label in test)
        told = right >= ANSWERED * len(test) and guessing < 0.8
        what = f"{sign} of a text gives {right} of {len(test)} answers away"
        said = any(word in about for word in f"{says} {WORD}".split())
        must(said or not told, f"{what}, which the summary does not say")


def _no_word_for_a_class(
    examples: Sequence[tuple[list[str], int]], label_names: Sequence[str], about: str
) -> None:
    """No class has a word in nearly every text, and nearly none elsewhere, that stands for it."""
    inside: dict[int, Counter[str]] = defaultdict(Counter)
    for words, label in examples:
        inside[label].update(set(words))
    everywhere = sum(inside.values(), Counter())
    signs = []
    for label, count in Counter(label for _, label in examples).items():
        few = (1 - ANSWERED) * (len(examples) - count)
        own = [word for word, often in inside[label].items() if often >= ANSWERED * count]
        signs.append([word for word in own if everywhere[word] - inside[label][word] <= few])
    names = {
        word for form in (*label_names, *range(len(label_names))) for word in _words(str(form))
    }
    written = all(not names.isdisjoint(of_class) for of_class in signs)
    what = "nearly every text has the name or the number of its class in it, and no other's"
    must(not written, what)
    said = any(word in about for word in WORD.split())
    what = f"one word stands for the class: {', '.join(map(repr, (s[0] for s in signs if s)))}"
    must(said or not all(signs), f"{what}, which the summary does not say")


def _means_the_same(loaded: Corpus) -> None:
    """A bag of words of the training split does not score far below chance."""
    bag = make_pipeline(CountVectorizer(analyzer=_words, binary=True), BernoulliNB(fit_prior=False))
    bag.fit(loaded.train.texts[:MANY], loaded.train.targets[:MANY])
    labels = np.asarray(loaded.test.targets[:MANY])
    right = int((bag.predict(loaded.test.texts[:MANY]) == labels).sum())
    chance = 1 / len(bag.classes_)
    what = f"a bag of words is right in {right} of {len(labels)} test documents, chance is "
    must(
        len(labels) < 20 or right >= 0.4 * chance * len(labels),
        f"{what}{chance:.2g}: labels do not mean the same in both splits",
    )
