"""A data set is what it says, the same everywhere, and its answers must be learned from texts."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from zoo.conformance.assertions import must
from zoo.conformance.check import check
from zoo.conformance.elsewhere import OTHER
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import Part, other_values
from zoo.data.sources.corpus import IGNORED, Corpus, Pairs, TaggedCorpus, Texts
from zoo.errors import ZooError
from zoo.registry import Choice

# Loading takes a while, and so does finding that the Hub cannot be reached.
_LOADED: dict[tuple[object, str], Any] = {}
# What a data set returns, by the capability that it declares, and its splits.
CLASSES = {"text-labels": Corpus, "token-labels": TaggedCorpus, "pairs": Pairs, "text": Texts}
SPLITS: dict[Any, tuple[str, str]] = {Texts: ("train", "validation")}
ANSWERED = 0.95  # the share of answers that a rule finds where it gives them away
WINDOW, NEAR = 13, 0.8  # tokens, and the share of a text's windows that a near copy has
COPIES = 0.1  # some well-known sets have duplicates, which are dropped from train and reported
MANY, FEW = 5000, 500  # training texts, and scored ones, that are compared
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
    loaded, expected = _load(part), CLASSES[declared[0]]
    own = f"{type(loaded).__module__}.{type(loaded).__name__}"
    must(isinstance(loaded, expected), f"gives a {own}, not a zoo.data.{expected.__name__}")
    for name in SPLITS.get(expected, ("train", "test")):
        must(name in loaded.splits, f"has no {name} split")
    for split, labels in _labels(loaded):
        counts = Counter(labels)
        absent = [name for number, name in enumerate(loaded.label_names) if not counts[number]]
        must(not absent, f"no {split} document is {', '.join(map(repr, absent))}")
    _the_same_again(part, loaded)
    _parameters_act(part, loaded)
    _apart(loaded)
    if isinstance(loaded, Corpus):
        _not_given_away(part, loaded)
        _means_the_same(loaded)


def _load(part: Part) -> Any:
    """The data, loaded once a process; CheckSkipped where the data cannot be had here."""
    key = (part.choice.component.factory, str(part.choice))
    if key not in _LOADED:
        try:
            _LOADED[key] = part.make()
        except ZooError as error:
            _LOADED[key] = error
    if isinstance(_LOADED[key], ZooError):
        raise CheckSkipped(f"the data cannot be had here: {_LOADED[key]}")
    return _LOADED[key]


def _labels(loaded: Any) -> list[tuple[str, list[int]]]:
    """The labels of each split that count; none of data without labels."""
    if isinstance(loaded, TaggedCorpus):
        return [
            (split, [tag for tags in examples.targets for tag in tags if tag != IGNORED])
            for split, examples in loaded.splits.items()
        ]
    if isinstance(loaded, Corpus):
        return [(split, list(examples.targets)) for split, examples in loaded.splits.items()]
    return []


def fingerprint(choice: Choice) -> str:
    """Of the documents that a data set gives."""
    text: str = choice.build().fingerprint
    return text


def _the_same_again(part: Part, loaded: Any) -> None:
    """Loaded again, or with another hash seed, folder and date, it gives the same documents."""
    again = part.make()
    for name, split in loaded.splits.items():
        pair = split.texts, again.splits[name].texts
        must(len(pair[0]) == len(pair[1]), f"loaded again: other numbers of {name} texts")
        differing = [i for i, (a, b) in enumerate(zip(*pair, strict=True)) if a != b]
        what = f"{len(differing)} of {len(pair[0])} {name} texts differ"
        must(not differing, f"loaded again: {what}, the first at {differing[:1]}")
    must(loaded.fingerprint == again.fingerprint, "loaded again: the fingerprints differ")
    other = OTHER.ask(part.choice, part.files, "zoo.conformance.data:fingerprint")
    what = "two processes with other hash seeds, folders, dates and random states load other data"
    must(other == loaded.fingerprint, f"{what}: sort sets, and draw from random.Random(seed)")


def _parameters_act(part: Part, loaded: Any) -> None:
    """Every parameter that is a number or a switch changes the data, or refuses other values."""
    for name, default in part.choice.component.parameters.items():
        prints = []
        for value in other_values(default):
            try:
                other = part.given(**{**part.choice.given, name: value}).make()
            except (ZooError, ValueError):
                continue
            prints.append(other.fingerprint)
            if other.fingerprint != loaded.fingerprint:
                break
        ignored = prints and set(prints) == {loaded.fingerprint}
        must(not ignored, f"'{name}' changes nothing: other values give the same documents")


def _words(text: Any) -> list[str]:
    joined = text if isinstance(text, str) else " ".join(text)
    return re.findall(r"\w+|[^\w\s]", joined.casefold().replace("_", " "))


def _apart(loaded: Any) -> None:
    """Few texts of a scored split, or near copies of them, are in another split."""
    names = [name for name in loaded.splits if name != "train"]
    for other in names:
        known = {" ".join(words) for words in map(_words, loaded.train.texts)}
        windows = {w for text in loaded.train.texts[:MANY] for w in _windows(_words(text))}
        texts = loaded.splits[other].texts
        copies = sum(" ".join(_words(text)) in known for text in texts)
        must(
            copies <= COPIES * len(texts),
            f"{copies} of {len(texts)} {other} documents are also in train",
        )
        near = 0
        for text in texts[:FEW]:
            own = _windows(_words(text))
            near += bool(own) and sum(w in windows for w in own) >= NEAR * len(own)
        few = min(FEW, len(texts))
        what = f"{near} of {few} {other} documents are near copies of training text"
        must(near <= COPIES * few, f"{what}: nearly all of their windows of {WINDOW} words are")


def _windows(words: list[str]) -> list[int]:
    windows = (tuple(words[i : i + WINDOW]) for i in range(len(words) - WINDOW + 1))
    return [hash(window) for window in windows if len(set(window)) > WINDOW // 2]


def _not_given_away(part: Part, loaded: Corpus) -> None:
    """No answer follows from a length, a place or one word, unless the data set says so."""
    component = part.choice.component
    about = f"{component.summary} {component.resolve().__doc__ or ''} {loaded.notes}".casefold()
    train = [_words(text) or [""] for text in loaded.train.texts]
    test = [_words(text) or [""] for text in loaded.test.texts]
    _no_word_for_a_class(train + test, [*loaded.train.targets, *loaded.test.targets], loaded, about)
    guessing = Counter(loaded.test.targets).most_common(1)[0][1] / len(test)
    for sign, (of, says) in SIGNS.items():
        votes: dict[object, Counter[int]] = defaultdict(Counter)
        for words, label in zip(train, loaded.train.targets, strict=True):
            votes[of(words)][label] += 1
        right = sum(
            votes[of(words)].most_common(1)[0][0] == label if of(words) in votes else 0
            for words, label in zip(test, loaded.test.targets, strict=True)
        )
        told = right >= ANSWERED * len(test) and guessing < 0.8
        what = f"{sign} of a text gives {right} of {len(test)} answers away"
        must(
            not told or any(word in about for word in f"{says} {WORD}".split()),
            f"{what}, which the summary does not say",
        )


def _no_word_for_a_class(
    texts: list[list[str]], labels: list[int], loaded: Corpus, about: str
) -> None:
    """No class has a word in nearly every text, and nearly none elsewhere, that stands for it."""
    counts = Counter(labels)
    inside: dict[int, Counter[str]] = defaultdict(Counter)
    for words, label in zip(texts, labels, strict=True):
        inside[label].update(set(words))
    everywhere = sum(inside.values(), Counter())
    signs = []
    for label in counts:
        others = len(labels) - counts[label]
        signs.append(
            [
                word
                for word, count in inside[label].items()
                if count >= ANSWERED * counts[label]
                and everywhere[word] - count <= (1 - ANSWERED) * others
            ]
        )
    forms = [*loaded.label_names, *map(str, range(len(loaded.label_names)))]
    names = {word for form in forms for word in _words(form)}
    written = all(any(word in names for word in of_class) for of_class in signs)
    must(
        not written,
        "nearly every text has the name or the number of its class in it, and no other's",
    )
    said = any(word in about for word in WORD.split())
    what = f"one word stands for the class: {', '.join(map(repr, (s[0] for s in signs if s)))}"
    must(said or not all(signs), f"{what}, which the summary does not say")


def _means_the_same(loaded: Corpus) -> None:
    """A bag of words of the training split does not score far below chance."""
    texts, labels = loaded.train.texts[:MANY], loaded.train.targets[:MANY]
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    for text, label in zip(texts, labels, strict=True):
        counts[label].update(set(_words(text)))
    sizes, right = Counter(labels), 0
    test = list(zip(loaded.test.texts, loaded.test.targets, strict=True))[:FEW]
    for text, label in test:
        scores = {
            own: sum(math.log((counts[own][w] + 1) / (n + 2)) for w in set(_words(text)))
            for own, n in sizes.items()
        }
        right += max(scores, key=lambda own: scores[own]) == label
    chance = 1 / len(sizes)
    what = f"a bag of words is right in {right} of {len(test)} test documents, chance is "
    must(
        len(test) < 20 or right >= 0.4 * chance * len(test),
        f"{what}{chance:.2g}: labels do not mean the same in both splits",
    )
