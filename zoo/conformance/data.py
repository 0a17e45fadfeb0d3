"""A data set is what it says, the same everywhere, and its answers must be learned from texts."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from zoo.conformance.assertions import hinting, must
from zoo.conformance.declares import at_other_values, parameters_act
from zoo.conformance.elsewhere import same_elsewhere
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import Part, is_a
from zoo.data.sources.corpus import IGNORED, Corpus, Pairs, TaggedCorpus, Texts, check_text
from zoo.errors import ZooError
from zoo.registry import Choice

# What a data set returns, by the capability that it declares.
CLASSES = {"text-labels": Corpus, "token-labels": TaggedCorpus, "pairs": Pairs, "text": Texts}
ANSWERED = 0.95  # the share of answers that a rule finds where it gives them away
HINT = 0.22  # by so much more than guessing of a made-up set
FEW = 8  # answers, and windows of a text: with fewer, much is chance
SHORT, PIECE = 5, 30  # words of a window, and of the pieces in which scored texts are compared
NEAR = 0.6  # the share of a piece's windows that one training text has where it is a near copy
COPIES = 0.1  # some well-known sets have duplicates, which are dropped from train and reported
FIRST = 12  # words of a text of which pairs are taken
MANY = 3000  # texts of a split that are compared
GO_ON = 0.3  # the share of scored texts that may go on as a training text begins
OTHERS = 1000  # texts of a split, at most, where other values of parameters are tried
AT_ONCE = 200  # pieces that are compared with all of train
WORD = "word token marker symbol"  # with which a data set says that one word tells the answer
FOLDS = KFold(3, shuffle=True, random_state=0)


class Unit(NamedTuple):
    """What has an answer: a text; or a token, at a place of its text."""

    text: str
    words: list[str]
    answer: Any
    named: list[str]  # the words of its text that name a class
    place: int = 0
    length: int = 0


# What an answer may be read from, and the words with which a data set says that it can.
COUNTED = "length long short count number frequent repeat"
FRONT, END = "first begin start", "last end"
SIGNS: dict[str, tuple[Callable[[Unit], Any], str]] = {
    "the number of words": (lambda u: len(u.words), COUNTED),
    "the number of different words": (lambda u: len({*u.words}), f"{COUNTED} different"),
    "the number of characters": (lambda u: len(u.text), COUNTED),
    "the number of capitals": (lambda u: sum(map(str.isupper, u.text)), "capital case"),
    "the number of digits": (lambda u: sum(map(str.isdigit, u.text)), f"{COUNTED} digit"),
    "the number of spaces": (lambda u: sum(map(str.isspace, u.text)), f"{COUNTED} space"),
    "the number of doubled spaces": (
        lambda u: len(u.text) - len(" ".join(u.text.split())),
        "space",
    ),
    "the number of marks": (lambda u: len(re.findall(r"[^\w\s]", u.text)), f"{COUNTED} punct"),
    "the first character": (lambda u: u.text[:1], FRONT),
    "the last character": (lambda u: u.text[-1:], END),
    "the first word that names a class": (lambda u: u.named[0], f"{FRONT} {END}"),
    "the last word that names a class": (lambda u: u.named[-1], f"{FRONT} {END}"),
    "a token's place": (lambda u: f"{u.place}", "place position"),
    "a token's place from the end": (lambda u: f"{u.length - u.place}", "place position"),
}
for _place in range(-4, 4):  # from the end, and from the beginning
    SIGNS[f"word {_place}"] = (
        lambda u, at=_place: "".join(u.words[at:][:1]),  # type: ignore[misc]
        f"place position {WORD} {({0: FRONT, -1: END}).get(_place, '')}",
    )
# How a target may follow from its source.
RELATIONS: dict[str, Callable[[list[str], list[str]], bool]] = {
    "is the source": lambda s, t: t == s,
    "is the source backwards": lambda s, t: t == s[::-1],
    "is the source in order": lambda s, t: t == sorted(s),
    "is as long as the source": lambda s, t: len(t) == len(s),
    "has the words of the source": lambda s, t: sorted(t) == sorted(s),
    "has a word of the source": lambda s, t: bool({*s} & {*t}),
    "begins as the source does": lambda s, t: t[:1] == s[:1],
    "begins with the source's end": lambda s, t: t[:1] == s[-1:],
}


def data(part: Part) -> None:
    """It holds what it declares, alike in all splits and everywhere; no answer is given away."""
    declared = [capability for capability in CLASSES if part.can(capability)]
    must(len(declared) == 1, f"declares {declared}, not one of {', '.join(CLASSES)}")
    try:
        loaded, kind = part.make(), CLASSES[declared[0]]
    except ZooError as error:
        raise CheckSkipped(f"the data cannot be had here: {error}") from None
    is_a(loaded, kind)
    units = _described(loaded, streamed := part.can("streamed"))
    must(part.make().fingerprint == loaded.fingerprint, "loaded again, it gives other documents")
    same_elsewhere(part, fingerprint, loaded.fingerprint, "load other data")
    values = {**part.choice.component.parameters, **part.choice.parameters}
    for name in ("train", "test"):
        if type(values.get(name)) is int:  # a number of texts, or what its author means
            values[name] = min(OTHERS, values[name])
    for other in at_other_values(part.with_parameters(**values)):
        with hinting(f"with {other.choice}"):
            made = other.make()
            _described(made, streamed)
            _apart(made)
    parameters_act(part, values, lambda a, b: a.make().fingerprint != b.make().fingerprint)
    _apart(loaded)
    if units["train"]:
        _not_given_away(units, part.choice.component.summary, natural=loaded.chance is None)
        _means_the_same(units)
    elif isinstance(loaded, Pairs):
        _related_alike(loaded)


def _described(loaded: Any, streamed: bool) -> dict[str, list[Unit]]:
    """The units of each split that have an answer, once all is what its class says.

    streamed: its chance may be of more than guessing, such as one answer for all of a text.
    """
    scored = "validation" if isinstance(loaded, Texts) else "test"
    for name in ("train", scored, *(["validation"] if streamed else [])):
        must(name in loaded.splits and bool(loaded.splits[name].texts), f"has no {name} split")
    train, goal = loaded.splits["train"].texts, loaded.goal
    if streamed:
        again = len(train) - len({*map(str, train)})
        must(not again, f"is streamed, and {again} texts of train are there twice")
        what = "is streamed, and no score counts as solved: give `chance` or `solved_at`"
        must(goal is not None, what)
    noted = "held out" in loaded.notes or not isinstance(loaded, Texts)
    must(noted, "its notes do not say what is `held out`, which records keep")
    above = goal is None or (loaded.chance or 0.0) < goal <= 1
    must(above, f"counts as solved at {goal}, and guessing scores {loaded.chance}")
    units = {name: list(_units(loaded, name)) for name in loaded.splits}
    groups = [re.findall(r"\d+", group) for group in loaded.splits[scored].groups]
    for measure in (len, lambda text: len(_plain(text))):
        sizes = [[str(measure(text))] for text in loaded.splits[scored].texts]
        aside = sorted(sizes) == sorted(groups) and sizes != groups
        must(not aside, f"groups are lengths, and not those of their {scored} texts")
    for name, split in loaded.splits.items():
        counts = Counter(unit.answer for unit in units[name])
        absent = [repr(each) for n, each in enumerate(loaded.label_names) if not counts[n]]
        enough = not absent or (name != "train" and len(counts) > 1)
        must(enough, f"no {name} document is {', '.join(absent)}")
        if isinstance(loaded, Texts | Pairs):
            for text in (*split.texts, *split.targets):
                check_text(f"a text of {name}", text)
        if counts and name == scored and loaded.chance is not None:
            most = max(counts.values()) / counts.total()
            best = most
            if isinstance(loaded, TaggedCorpus):  # one answer for all of a text may score more
                own = [Counter(tag for tag in tags if tag != IGNORED) for tags in split.targets]
                best = sum(max(each.values(), default=0) for each in own) / counts.total()
            what = f"chance is {loaded.chance:g}, and guessing scores {most:.2g}"
            must(most - 0.05 < loaded.chance < (1 if streamed else best + 0.05), what)
    return units


def _units(loaded: Any, name: str) -> Iterator[Unit]:
    texts, targets, _ = loaded.splits[name]
    names = {word for n, name in enumerate(loaded.label_names) for word in _words(f"{name} {n}")}
    if isinstance(loaded, Corpus):
        for text, label in zip(texts, targets, strict=True):
            words = _words(text) or [""]
            yield Unit(text, words, label, [w for w in words if w in names] or [""])
    elif isinstance(loaded, TaggedCorpus):
        for tokens, tags in zip(texts, targets, strict=True):
            named = [each for each in tokens if each.casefold() in names] or [""]
            for place, (token, tag) in enumerate(zip(tokens, tags, strict=True)):
                if tag != IGNORED:  # a tag may follow from a token and another one of its text
                    words = [token, *(f"{token} {other}" for other in tokens)]
                    yield Unit(token, words, tag, named, place, len(tokens))


def fingerprint(choice: Choice) -> str:
    """Of the documents that a data set gives."""
    return str(choice.build().fingerprint)


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
    twice = loaded.duplicates if isinstance(loaded, Pairs) else 0
    must(not twice, f"{twice} sources of test are also in train")
    counter = HashingVectorizer(analyzer=_windows, binary=True, norm=None, alternate_sign=False)
    plain = (lambda t: t.split() if isinstance(t, str) else t) if loaded.word_level else _plain
    words = {name: list(map(plain, split.texts)) for name, split in loaded.splits.items()}
    for base, name in itertools.combinations(words, 2):  # train, test, validation
        known = set(map(tuple, words[base]))
        trained = counter.transform(words[base][:MANY]).T.tocsr()
        texts = words[name][:MANY]
        pieces = [t[at : at + PIECE] for t in texts for at in range(0, max(1, len(t)), PIECE)]
        copies = sum(tuple(text) in known for text in texts)
        for start in range(0, len(pieces), AT_ONCE):
            windows = counter.transform(pieces[start : start + AT_ONCE])
            counts = windows.getnnz(axis=1)
            shared = (windows @ trained).max(axis=1).toarray().ravel()
            copies += int(((counts >= FEW) & (shared >= NEAR * counts)).sum())
        what = f"{copies} of {len(pieces)} {name} documents, or pieces of {PIECE} words, are nearly"
        must(copies <= COPIES * len(pieces), f"{what} in one text of {base}")
        # By chance, as of a few symbols, as many would go on with the words in the other order.
        ends = [_go_on(t, words[base][:MANY]) for t in (texts, [text[::-1] for text in texts])]
        what = f"{ends[0]:.0%} of the {name} documents end as a text of {base} begins"
        must(ends[0] < ends[1] + GO_ON, f"{what}: they are windows of one text")


def _go_on(texts: Sequence[list[str]], known: Sequence[list[str]]) -> float:
    """The share of texts whose last words are the first words of a known text: eight or more."""
    begin = defaultdict(list)
    for other in known:
        begin[tuple(other[:FEW])].append(other)
    ends = (
        any(
            other[: len(text) - at] == text[at:] and len(set(text[at:])) > 2
            for at in range(1, len(text) - FEW + 1)
            for other in begin.get(tuple(text[at : at + FEW]), ())
        )
        for text in texts
    )
    return sum(ends) / len(texts)


def _not_given_away(units: dict[str, list[Unit]], summary: str, *, natural: bool) -> None:
    """No answer follows from a length, a place or one word, unless the summary says so.

    natural: whether chance is unknown: then a sign may hint at an answer.
    """
    train, test, described = units["train"], units["test"], _words(summary)
    labels, expected = (np.array([unit.answer for unit in split]) for split in (train, test))
    guessing = Counter(expected.tolist()).most_common(1)[0][1] / len(test)
    if guessing >= 0.8 or len(test) < FEW:
        return
    least = ANSWERED if natural else min(ANSWERED, guessing + HINT)

    def gives_away(seen: Any, shown: Any, leaves: int | None, sign: str, says: str) -> None:
        """Fail where a small tree finds the answers by a sign that the summary does not say."""
        own = labels[: seen.shape[0]]
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(seen, own)
        right = int((tree.predict(shown) == expected).sum())
        # "longer" says "long".
        said = any(word.startswith(tuple(says.split())) for word in described)
        # The first number of a sum hints at its value.
        bar = ANSWERED if "names" in sign else least
        what = f"{sign} gives {right} of {len(test)} answers away, which the summary does not say"
        must(said or right < bar * len(test), what)
        if right <= 1.1 * guessing * len(test) and tree.score(seen, own) > ANSWERED:
            found = cross_val_score(tree, seen, own, cv=FOLDS).mean()
            what = f"{sign} gives {found:.0%} of the answers in train and {right} in test"
            must(found < ANSWERED, f"{what}: labels do not mean the same in both")

    for sign, (of, says) in SIGNS.items():
        if train[0].length and not sign.startswith("a token's") and "names" not in sign:
            continue
        seen, shown = (np.array([[of(unit)] for unit in split], object) for split in (train, test))
        leaves = None if isinstance(seen[0, 0], str) else 32
        if leaves is None:
            encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
            seen, shown = encoder.fit_transform(seen), encoder.transform(shown)
        gives_away(seen, shown, leaves, sign, says)
    if not train[0].length:  # a tag may well be that of its token
        letters = f"{WORD} letter character"
        bags = ("word", lambda u: u.words, WORD), ("character", lambda u: {*u.text}, letters)
        for what, of, says in bags:
            counter = CountVectorizer(analyzer=of, binary=True)
            seen, shown = counter.fit_transform(train[:MANY]), counter.transform(test)
            classes = len({*labels[:MANY].tolist()})
            gives_away(seen, shown, classes, f"one {what} for each class", says)


def _means_the_same(units: dict[str, list[Unit]]) -> None:
    """A bag of words that finds a class among training texts does not score below chance in it."""
    seen = {
        name: (list(map(_in_order, split[:MANY])), np.array([u.answer for u in split[:MANY]]))
        for name, split in units.items()
        if len(split) >= FEW
    }
    words, labels = seen.pop("train", ([], np.array([])))
    bag = make_pipeline(CountVectorizer(analyzer=list, binary=True), BernoulliNB(fit_prior=False))
    if not words or not seen:
        return
    within = cross_val_predict(bag, words, labels, cv=FOLDS)
    bag.fit(words, labels)
    chance = 1 / len({*labels.tolist()})
    for name, (others, expected) in seen.items():
        answers = bag.predict(others)
        for label in {*expected.tolist()}:
            pairs = (within, labels), (answers, expected)
            known, right = (float((a == e)[e == label].mean()) for a, e in pairs)
            what = f"a bag of words finds {known:.0%} of class {label} among training texts, and "
            what += f"{right:.0%} in {name}: labels do not mean the same in both splits"
            must(known < min(0.75, 2 * chance) or right > 0.4 * chance, what)


def _in_order(unit: Unit) -> list[str]:
    """The words, and of a text with a label pairs: neighbours, and of the first ones in order."""
    if unit.length:
        return unit.words
    pairs, first = itertools.pairwise(unit.words), itertools.combinations(unit.words[:FIRST], 2)
    return [*unit.words, *map("+".join, pairs), *map(" ".join, first)]


def _related_alike(loaded: Pairs) -> None:
    """What holds of nearly all training pairs holds of the scored ones, and the other way round."""
    train, test = (
        [(_words(source), _words(target)) for source, target in zip(*split[:2], strict=True)]
        for split in (loaded.train, loaded.test)
    )
    if min(len(train), len(test)) < FEW:
        return
    for relation, holds in RELATIONS.items():
        known, right = (sum(holds(*pair) for pair in pairs) / len(pairs) for pairs in (train, test))
        what = f"the target {relation} in {known:.0%} of training pairs and {right:.0%} of test's"
        must(abs(known - right) < 0.5, f"{what}: they do not mean the same")
