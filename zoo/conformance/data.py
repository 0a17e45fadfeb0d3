"""A data set is what it says, the same everywhere, and its answers must be learned from texts."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from zoo.conformance.assertions import must
from zoo.conformance.check import check
from zoo.conformance.elsewhere import same_elsewhere
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import Part, parameters_act
from zoo.data.sources.corpus import IGNORED, Corpus, Pairs, TaggedCorpus, Texts, check_text
from zoo.errors import ZooError
from zoo.registry import Choice

# What a data set returns, by the capability that it declares.
CLASSES = {"text-labels": Corpus, "token-labels": TaggedCorpus, "pairs": Pairs, "text": Texts}
ANSWERED = 0.95  # the share of answers that a rule finds where it gives them away
HINT = 0.2  # by so much more than guessing of a made-up set
FEW = 10  # answers, and windows of a text: with fewer, much is chance
SHORT, PIECE = 5, 30  # words of a window, and of the pieces in which scored texts are compared
NEAR = 0.6  # the share of a piece's windows that one training text has where it is a near copy
COPIES = 0.1  # some well-known sets have duplicates, which are dropped from train and reported
MANY = 3000  # texts of a split that are compared
SMALL = 200  # texts of a data set whose size is a parameter, where others are tried
WORD = "word token marker symbol"  # with which a data set says that one word tells the answer


Said = Callable[[str], bool]  # whether the data set says one of some words


class Unit(NamedTuple):
    """What has an answer: a text; or a token, at a place of its text."""

    text: str
    words: list[str]
    answer: Any
    place: int = 0
    length: int = 0


# What an answer may be read from, and the words with which a data set says that it can.
SIGNS: dict[str, tuple[Callable[[Unit], Any], str]] = {
    "the number of words": (lambda u: len(u.words), "length long short count number"),
    "the number of characters": (lambda u: len(u.text), "length long short count number"),
    "the number of capitals": (lambda u: sum(map(str.isupper, u.text)), "capital case"),
    "the number of digits": (lambda u: sum(map(str.isdigit, u.text)), "digit number count"),
    "the number of spaces": (lambda u: sum(map(str.isspace, u.text)), "space length count"),
    "the number of punctuation marks": (
        lambda u: sum(not (c.isalnum() or c.isspace()) for c in u.text),
        "punctuation number count",
    ),
    "the first character": (lambda u: u.text[:1], "first begin start"),
    "the last character": (lambda u: u.text[-1:], "last end"),
    "a token's place": (lambda u: f"{u.place}", "place position"),
    "a token's place from the end": (lambda u: f"{u.length - u.place}", "place position"),
}
for _place in range(-4, 4):  # from the end, and from the beginning
    SIGNS[f"word {_place}"] = (
        lambda u, at=_place: "".join(u.words[at:][:1]),  # type: ignore[misc]
        f"place position {'first begin start' if _place >= 0 else 'last end'}",
    )
# How a target may follow from its source.
RELATIONS: dict[str, Callable[[list[str], list[str]], bool]] = {
    "is the source": lambda s, t: t == s,
    "is the source backwards": lambda s, t: t == s[::-1],
    "is the source in order": lambda s, t: t == sorted(s),
    "is as long as the source": lambda s, t: len(t) == len(s),
    "begins as the source does": lambda s, t: t[:1] == s[:1],
    "begins with the source's end": lambda s, t: t[:1] == s[-1:],
}


@check("data", "data")
def data(part: Part) -> None:
    """It holds what it declares, alike in all splits and everywhere; no answer is given away."""
    declared = [capability for capability in CLASSES if part.can(capability)]
    text = " and ".join(declared) or "none"
    must(len(declared) == 1, f"declares {text} of {', '.join(CLASSES)}")
    try:
        loaded, kind = part.make(), CLASSES[declared[0]]
    except ZooError as error:
        raise CheckSkipped(f"the data cannot be had here: {error}") from None
    own = f"{type(loaded).__module__}.{type(loaded).__name__}"
    must(isinstance(loaded, kind), f"gives a {own}, not a zoo.data.{kind.__name__}")
    units = _described(loaded)
    expected = loaded.fingerprint
    must(part.make().fingerprint == expected, "loaded again, it gives other documents")
    function = "zoo.conformance.data:fingerprint"
    same_elsewhere(part.choice, part.files, function, expected, "load other data")
    sizes = {n: SMALL for n in ("train", "test") if part.choice.component.parameters.get(n)}
    given = {**part.choice.parameters, **sizes}
    parameters_act(
        part, given, lambda one, other: one.make().fingerprint != other.make().fingerprint
    )
    _apart(loaded)
    if units["train"]:
        component = part.choice.component
        about = f"{component.summary} {component.resolve().__doc__ or ''} {loaded.notes}"
        known = set(_words(about))

        def said(words: str) -> bool:  # "longer" says "long"
            return any(each.startswith(word) for word in words.split() for each in known)

        _not_given_away(units, loaded.label_names, said, loaded.chance is None)
        _means_the_same(units)
    elif isinstance(loaded, Pairs):
        _related_alike(loaded)


def _described(loaded: Any) -> dict[str, list[Unit]]:
    """The units of each split that have an answer, once all is what its class says."""
    scored = "validation" if isinstance(loaded, Texts) else "test"
    for name in ("train", scored):
        must(name in loaded.splits and bool(loaded.splits[name].texts), f"has no {name} split")
    must(all(isinstance(v, str) for v in loaded.notes.values()), "notes has a value that is no str")
    units = {name: list(_units(loaded, name)) for name in loaded.splits}
    for name, split in loaded.splits.items():
        counts = Counter(unit.answer for unit in units[name])
        absent = [repr(each) for n, each in enumerate(loaded.label_names) if not counts[n]]
        enough = not absent or (name != "train" and len(counts) > 1)
        must(enough, f"no {name} document is {', '.join(absent)}")
        if isinstance(loaded, Texts | Pairs):
            for text in (*split.texts, *split.targets):
                check_text(f"a text of {name}", text)
        if counts and name == scored and loaded.chance is not None:
            least, most = 1 / len(counts), max(counts.values()) / counts.total()
            what = f"chance is {loaded.chance:g}, and guessing scores {least:.2g} to {most:.2g}"
            must(least - 0.05 < loaded.chance < most + 0.05, what)
    return units


def _units(loaded: Any, name: str) -> Iterator[Unit]:
    texts, targets, _ = loaded.splits[name]
    if isinstance(loaded, Corpus):
        for text, label in zip(texts, targets, strict=True):
            yield Unit(text, _words(text) or [""], label)
    elif isinstance(loaded, TaggedCorpus):
        for tokens, tags in zip(texts, targets, strict=True):
            for place, (token, tag) in enumerate(zip(tokens, tags, strict=True)):
                if tag != IGNORED:  # a tag may follow from a token and another one of its text
                    words = [token, *(f"{token} {other}" for other in tokens)]
                    yield Unit(token, words, tag, place, len(tokens))


def fingerprint(choice: Choice) -> str:
    """Of the documents that a data set gives."""
    text: str = choice.build().fingerprint
    return text


def _words(text: Any) -> list[str]:
    joined = text if isinstance(text, str) else " ".join(text)
    return re.findall(r"\w+|[^\w\s]", joined.casefold().replace("_", " "))


def _plain(text: Any) -> list[str]:
    """The words, without punctuation where that is not most of them."""
    words = _words(text)
    letters = [word for word in words if word[0].isalnum()]
    return letters if 2 * len(letters) > len(words) else words


def _windows(words: Sequence[str]) -> list[str]:
    """Windows of some words; not those of a few symbols, which many texts share."""
    windows = (words[i : i + SHORT] for i in range(len(words) - SHORT + 1))
    return [" ".join(window) for window in windows if len({*window}) >= SHORT - 1]


def _apart(loaded: Any) -> None:
    """Few pieces of a scored text are training texts, or have most windows of one."""
    from sklearn.feature_extraction.text import HashingVectorizer

    twice = loaded.duplicates if isinstance(loaded, Pairs) else 0
    must(not twice, f"{twice} sources of test are also in train")
    counter = HashingVectorizer(analyzer=_windows, binary=True, norm=None, alternate_sign=False)
    words = {name: list(map(_plain, split.texts)) for name, split in loaded.splits.items()}
    for base, name in itertools.combinations(words, 2):  # train, test, validation
        known = set(map(tuple, words[base]))
        trained = counter.transform(words[base][:MANY]).T.tocsr()
        texts = words[name][:MANY]
        pieces = [t[at : at + PIECE] for t in texts for at in range(0, max(1, len(t)), PIECE)]
        copies = sum(tuple(text) in known for text in texts)
        for start in range(0, len(pieces), SMALL):
            windows = counter.transform(pieces[start : start + SMALL])
            counts = np.asarray(windows.sum(axis=1)).ravel()
            shared = (windows @ trained).max(axis=1).toarray().ravel()
            copies += int(((counts >= FEW) & (shared >= NEAR * counts)).sum())
        must(
            copies <= COPIES * len(pieces),
            f"{copies} of {len(pieces)} {name} documents, or pieces of {PIECE} words, are texts of "
            f"{base}, or one has {NEAR:.0%} of their windows of {SHORT} words",
        )


def _not_given_away(
    units: dict[str, list[Unit]], label_names: Sequence[str], said: Said, natural: bool
) -> None:
    """No answer follows from a length, a place or one word, unless the data set says so.

    natural: whether chance is unknown: then a sign may hint at an answer.
    """
    from sklearn.tree import DecisionTreeClassifier

    train, test = units["train"], units["test"]
    labels = np.array([unit.answer for unit in train])
    if train[0].length:  # a tag may well be that of its token
        named = [label_names[u.answer].casefold() in _words(u.text) for u in (*train, *test)]
        share = sum(named) / len(named)
        must(
            said(WORD) or share < ANSWERED,
            f"{share:.0%} of the tokens have the name of their tag in them",
        )
    else:
        _no_word_for_a_class([*train, *test], label_names, said)
    guessing = Counter(unit.answer for unit in test).most_common(1)[0][1] / len(test)
    for sign, (of, says) in SIGNS.items():
        if train[0].length and not sign.startswith("a token's"):
            continue
        seen, shown = ([of(unit) for unit in split] for split in (train, test))
        numbers: dict[Any, int] = {}
        if isinstance(seen[0], str):
            for value in seen:
                numbers.setdefault(value, len(numbers))
            seen, shown = ([numbers.get(v, -1) for v in values] for values in (seen, shown))
        tree = DecisionTreeClassifier(max_leaf_nodes=None if numbers else 32, random_state=0)
        tree.fit(np.array(seen)[:, None], labels)
        guesses = tree.predict(np.array(shown)[:, None])
        right = sum(guess == unit.answer for guess, unit in zip(guesses, test, strict=True))
        least = ANSWERED if natural else min(ANSWERED, guessing + HINT)
        told = right >= least * len(test) and guessing < 0.8 and len(test) >= FEW
        what = f"{sign} gives {right} of {len(test)} answers away"
        must(said(f"{says} {WORD}") or not told, f"{what}, which the summary does not say")


def _no_word_for_a_class(units: Sequence[Unit], label_names: Sequence[str], said: Said) -> None:
    """No class but one has a word in nearly every text, and nearly none elsewhere."""
    inside: dict[int, Counter[str]] = defaultdict(Counter)
    for unit in units:
        inside[unit.answer].update(set(unit.words))
    everywhere = sum(inside.values(), Counter())
    signs = []
    for label, count in Counter(unit.answer for unit in units).items():
        few = (1 - ANSWERED) * (len(units) - count)
        own = [word for word, often in inside[label].items() if often >= ANSWERED * count]
        signs.append([word for word in own if everywhere[word] - inside[label][word] <= few])
    names = {
        word for form in (*label_names, *range(len(label_names))) for word in _words(str(form))
    }
    written = all(not names.isdisjoint(of_class) for of_class in signs)
    what = "nearly every text has the name or the number of its class in it, and no other's"
    must(not written, what)
    what = f"one word stands for the class: {', '.join(map(repr, (s[0] for s in signs if s)))}"
    must(said(WORD) or sum(not s for s in signs) > 1, f"{what}, which the summary does not say")


def _means_the_same(units: dict[str, list[Unit]]) -> None:
    """A bag of words that finds a class among training texts does not score below chance in it."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.pipeline import make_pipeline

    train, test = units["train"][:MANY], units["test"][:MANY]
    (words, labels), (others, expected) = (
        ([unit.words for unit in split], np.array([unit.answer for unit in split]))
        for split in (train, test)
    )
    bag = make_pipeline(CountVectorizer(analyzer=list, binary=True), BernoulliNB(fit_prior=False))
    if len(train) < FEW or len(test) < FEW:
        return
    within = cross_val_predict(bag, words, labels, cv=KFold(3, shuffle=True, random_state=0))
    answers, chance = bag.fit(words, labels).predict(others), 1 / len({*labels.tolist()})
    for label in {*expected.tolist()}:
        pairs = (within, labels), (answers, expected)
        found, right = (float((a == e)[e == label].mean()) for a, e in pairs)
        what = f"a bag of words finds {found:.0%} of class {label} among training texts, and "
        what += f"{right:.0%} in test: labels do not mean the same in both splits"
        must(found < min(0.75, 2 * chance) or right > 0.4 * chance, what)


def _related_alike(loaded: Pairs) -> None:
    """What holds of nearly all training pairs holds of the scored ones, and the other way round."""
    for relation, holds in RELATIONS.items():
        train, test = (
            float(np.mean([holds(_words(s), _words(t)) for s, t in zip(*split[:2], strict=True)]))
            for split in (loaded.train, loaded.test)
        )
        what = f"the target {relation} in {train:.0%} of training pairs and {test:.0%} of test's"
        few = min(len(loaded.train.texts), len(loaded.test.texts)) < FEW
        must(few or abs(train - test) < 0.5, f"{what}: they do not mean the same")
