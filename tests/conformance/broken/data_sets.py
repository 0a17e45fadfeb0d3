"""Data sets that are wrong in one way each."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import os
import random

from specimens import Specimens, registering

from zoo.data.sources.corpus import Corpus, Examples, Pairs, TaggedCorpus, Texts

broken = Specimens("data", "text-labels")
zoo_register = registering(broken)


TEXTS = [f"document {number}" for number in range(20)]
TRAIN, TEST = TEXTS[:12], TEXTS[12:]


def corpus(train=TRAIN, test=TEST, test_labels=(1, 0) * 4, validation=False) -> Corpus:
    splits = {"train": Examples(train, [0, 1] * 6), "test": Examples(test, test_labels)}
    splits |= {"validation": Examples(["held", "out"], [0, 1])} if validation else {}
    return Corpus("tiny", splits, ["left", "right"])


@broken.caught_by("data", "no test document is 'B'", only=("token-labels",))
def tag_without_test():
    texts = [["one", "two"], ["three", "four"]]
    splits = {"train": (texts, [[0, 1], [1, -100]]), "test": (texts[:1], [[0, -100]])}
    return TaggedCorpus("tiny", splits, ["A", "B"])


_DRAWN = random.random()
# What a function gives, what is said of that, and how it differs in what it declares.
GIVEN = {
    "dictionary": (dict, "gives a builtins.dict, no .*Corpus", {}),
    "declares_nothing": (corpus, r"declares \[\], not one of text-labels", {"only": ()}),
    "declares_two": (corpus, "declares .'text-labels', 'text'., not one of", {"also": ("text",)}),
    "streamed_without_held_out": (corpus, "has no validation split", {"also": ("streamed",)}),
    "streamed_and_never_solved": (
        lambda: corpus(validation=True),
        "no score counts as solved",
        {"also": ("streamed",)},
    ),
    "solved_by_guessing": (
        lambda: dataclasses.replace(corpus(validation=True), chance=0.5, solved_at=0.45),
        "counts as solved at 0.45, and guessing scores 0.5",
        {"also": ("streamed",)},
    ),
    "streamed_twice": (
        lambda: corpus([*TRAIN[:10], *TRAIN[:2]], validation=True),
        "is streamed, and 2 texts of train are there twice",
        {"also": ("streamed",)},
    ),
    "class_without_test": (
        lambda: corpus(test_labels=[0] * 8),
        "no test document is 'right'",
        {},
    ),
    "shuffled_anew": (
        lambda: corpus(random.sample(TRAIN, len(TRAIN))),
        "loaded again, it gives other documents",
        {},
    ),
    "test_in_train": (lambda: corpus(test=TRAIN[:8]), "8 of 8 test documents", {}),
    "ordered_by_hash": (lambda: corpus([*{f"word{n}" for n in range(12)}]), "load other data", {}),
    "names_its_folder": (lambda: marked(os.getcwd()), "load other data", {}),
    "of_this_year": (lambda: marked(datetime.date.today().year), "load other data", {}),
    "drawn_when_imported": (lambda: marked(_DRAWN), "load other data", {}),
}


def marked(mark):
    return corpus([f"{text} {mark}" for text in TRAIN])


def give(what):
    return what()


for _name, (_what, _says, _declares) in GIVEN.items():
    _factory = functools.partial(give, _what)
    _factory.__name__, _factory.__module__ = _name, __name__
    broken.caught_by("data", _says, parameters={}, **_declares)(_factory)


@broken.caught_by("data", "'seed' changes nothing", parameters={"seed": 0})
def seed_ignored(seed=0):
    return corpus()


@broken.caught_by("data", "gives 8 of 8 answers away")
def label_written_in_front():
    train = [f"{name}: {text}" for name, text in zip(["left", "right"] * 6, TRAIN, strict=True)]
    test = [f"{name}: {text}" for name, text in zip(["right", "left"] * 4, TEST, strict=True)]
    return corpus(train, test)


@broken.caught_by("data", "gives 8 of 8 answers away")
def label_as_a_number():
    texts = [f"{word} __label__{number % 2}" for number, word in enumerate("abcdefghijkl")]
    tests = [f"{word} __label__{number % 2}" for number, word in enumerate("mnopqrst")]
    return corpus(texts, tests, [0, 1] * 4)


WORDS = "apple river stone cloud table green quiet house train paper light horse".split()


SIDES = ["left", "right"]


def drawn(seed, count, change=lambda words, label: words):
    """Texts whose words lean to a class, changed by what gives it away."""
    draw, texts = random.Random(seed), []
    labels = [draw.randrange(2) for _ in range(count)]
    for label in labels:
        words = [*WORDS, *WORDS[6 * label :][:6] * 3]
        texts.append(" ".join(change(draw.choices(words, k=draw.randint(9, 19)), label)))
    return texts, labels


def of_drawn(train, test=None, **about):
    splits = {"train": train, "test": test or drawn(1, 80)}
    return Corpus("drawn", splits, SIDES, **about)


# How a text of a class is changed in both splits.
GIVEN_AWAY = {
    "longer": (lambda words, label: words * (1 + label), "the number of words gives"),
    "space_at_the_end": (lambda words, label: [*words, *[""] * label], "gives 80 of 80"),
    "second_last_word": (
        lambda words, label: [*words, WORDS[label], "end"],
        "word -2 gives",
    ),
    "fourth_word": (lambda words, label: [*words[:3], WORDS[label], *words[3:]], "word 3 gives"),
    "two_spaces": (
        lambda words, label: [
            *words[:5],
            *[""] * label,
            *words[5:],
            "i" * (1 + WORDS.index(words[0]) % 6),
        ],
        "the number of doubled spaces gives 80 of 80",
    ),
    "marker": (
        lambda words, label: [*words[:5], *["zq"] * label, *words[5:]],
        "gives 80 of 80 answers away",
    ),
    "repeated": (
        lambda words, label: ([*dict.fromkeys([*words, *WORDS])] if label else words)[:9],
        "the number of different words gives",
    ),
    "named_last": (
        lambda words, label: [*words[:5], SIDES[1 - label], *words[5:8], SIDES[label], *words[8:]],
        "word that names a class gives 80 of 80 answers away",
    ),
    "even_or_odd": (
        lambda words, label: words[: len(words) - (len(words) + label) % 2],
        "the number of words gives",
    ),
}


def given_away(change):
    return of_drawn(drawn(0, 300, change), drawn(1, 80, change))


for _name, (_change, _says) in GIVEN_AWAY.items():
    _factory = functools.partial(given_away, _change)
    _factory.__name__, _factory.__module__ = _name, __name__
    broken.caught_by("data", _says, parameters={})(_factory)


@broken.caught_by("data", "labels do not mean the same in both splits")
def exchanged_in_test():
    texts, labels = drawn(1, 80)
    return of_drawn(drawn(0, 300), (texts, [1 - label for label in labels]))


def ordered(seed, count):
    """Texts in which the order of two words tells the class."""
    draw, texts, labels = random.Random(seed), [], [0, 1] * (count // 2)
    for label in labels:
        pair, more = ["sun", "moon"], draw.choices(WORDS, k=draw.randint(2, 9))
        texts.append(" ".join([*draw.choices(WORDS, k=5), *pair[:: 1 - 2 * label], *more]))
    return texts, labels


@broken.caught_by("data", "labels do not mean the same in both splits")
def orders_renumbered_in_test():
    texts, labels = ordered(1, 80)
    return of_drawn(ordered(0, 300), (texts, labels[::-1]))


def pointed(seed, count):
    """Texts in which one word follows another, of which there are as many in each class."""
    draw, texts, labels = random.Random(seed), [], [n % 3 for n in range(count)]
    for label in labels:
        words = draw.sample([*WORDS[:6], *(w for n, w in enumerate(WORDS[6:9]) if n != label)], 8)
        at = draw.randint(0, 8)
        texts.append(" ".join([*words[:at], "see", WORDS[6 + label], *words[at:]]))
    return texts, labels


@broken.caught_by("data", "labels do not mean the same in both splits")
def neighbours_renumbered_in_test():
    texts, labels = pointed(1, 90)
    splits = {"train": pointed(0, 600), "test": (texts, [(n + 1) % 3 for n in labels])}
    return Corpus("pointed", splits, ["a", "b", "c"])


@broken.caught_by(
    "data",
    "no train document is 'more'",
    parameters={"span": 1},
)
def class_of_a_longer_span(span=1):
    train = Examples(TRAIN, [0, 1] * 6)
    splits = {"train": train, "test": Examples(TEST, [*(1, 0) * 3, 1, 2 * (span > 1)])}
    return Corpus("tiny", splits, ["left", "right", *["more"] * (span > 1)])


@broken.caught_by("data", "in validation: labels do not mean the same in both splits")
def exchanged_in_validation():
    texts, labels = drawn(1, 80)
    splits = {"train": drawn(0, 300), "test": drawn(2, 80)}
    return Corpus("drawn", {**splits, "validation": (texts, [1 - n for n in labels])}, SIDES)


@broken.caught_by("data", "are nearly in one text of train")
def one_word_replaced():
    texts, labels = drawn(0, 300)
    changed = [" ".join([*text.split()[:-3], "other", *text.split()[-2:]]) for text in texts[:80]]
    return of_drawn((texts, labels), (changed, labels[:80]))


@broken.caught_by("data", "they do not mean the same", only=("pairs",))
def sorts_in_train_alone():
    train, test = drawn(0, 60)[0], drawn(1, 40)[0]
    answers = [" ".join(sorted(text.split())) for text in train]
    return Pairs("drawn", {"train": (train, answers), "test": (test, test)})


@broken.caught_by("data", "chance is 0.1, and guessing scores")
def chance_of_other_data():
    return of_drawn(drawn(0, 60), chance=0.1)


@broken.caught_by("data", "chance is 0.5, and guessing scores 0.75")
def chance_of_as_many_each():
    texts, _ = drawn(1, 80)
    return of_drawn(drawn(0, 60), (texts, [0, 1, 1, 1] * 20), chance=0.5)


def looked_up(seed, count, tag_of):
    """Keys with their values, then questions for keys, whose tags are the values."""
    draw, texts, tags = random.Random(seed), [], []
    for _ in range(count):
        values = {key: draw.randrange(3) for key in draw.sample(range(6), 3)}
        asked = draw.sample(list(values), 3)
        texts.append([*(f"k{k}={v}" for k, v in values.items()), *(f"k{k}?" for k in asked)])
        tags.append([-100] * 3 + [tag_of(values[key]) for key in asked])
    return texts, tags


@broken.caught_by("data", "labels do not mean the same in both splits", only=("token-labels",))
def tags_renumbered_in_test():
    splits = {"train": looked_up(0, 400, int), "test": looked_up(1, 100, lambda v: (v + 1) % 3)}
    return TaggedCorpus("lookup", splits, ["a", "b", "c"])


@broken.caught_by("data", "they are windows of one text")
def windows_that_overlap():
    draw, found = random.Random(0), []
    for label in (0, 1) * 20:
        words = draw.choices([*WORDS, *WORDS[6 * label :][:6]], k=100)
        found += [(" ".join(words[at : at + 16]), label) for at in range(0, 80, 8)]
    draw.shuffle(found)
    texts, labels = map(list, zip(*found, strict=True))
    return of_drawn((texts[:300], labels[:300]), (texts[300:], labels[300:]))


@broken.caught_by("data", "windows of one text", only=("text",))
def passages_that_begin_with_the_last_words():
    draw = random.Random(0)
    words = [f"{draw.choice(WORDS)}{draw.randrange(40)}" for _ in range(4000)]
    texts = [" ".join(words[at : at + 48]) for at in range(0, 3900, 36)]
    held_out = {"held out": "every tenth passage"}
    splits = {"train": ([t for n, t in enumerate(texts) if n % 10],), "validation": (texts[::10],)}
    return Texts("passages", splits, notes=held_out)


@broken.caught_by("data", "do not say what is `held out`", only=("text",))
def says_nothing_of_what_is_held_out():
    return Texts("tiny", {"train": (TRAIN,), "validation": (TEST,)})


@broken.caught_by("data", "groups are lengths, and not those of their test texts")
def groups_in_the_order_of_length():
    texts, labels = drawn(1, 80)
    groups = sorted((f"{len(text.split())} words" for text in texts), key=len)
    return of_drawn(drawn(0, 300), (texts, labels, groups))


@broken.caught_by("data", "the last word that names a class gives 100% of the answers in train")
def named_last_and_renumbered():
    def texts(seed, count, turn):
        draw, found = random.Random(seed), []
        for _ in range(count):
            named = draw.sample(["oak", "elm", "ash"], 3)
            places = sorted(draw.sample(range(12), 3))
            words = draw.choices(WORDS, k=12)
            for place, name in zip(places, named, strict=True):
                words[place] = name
            found.append((" ".join(words), (["oak", "elm", "ash"].index(named[-1]) + turn) % 3))
        return tuple(map(list, zip(*found, strict=True)))

    return Corpus(
        "trees", {"train": texts(0, 400, 0), "test": texts(1, 100, 1)}, ["oak", "elm", "ash"]
    )


@broken.caught_by("data", "one character for each class gives 80 of 80 answers away")
def letters_of_another_alphabet():
    def marked(seed, count):
        draw, labels = random.Random(seed), [0, 1] * (count // 2)
        texts = [draw.choices(WORDS, k=9) for _ in labels]
        for words, label in zip(texts, labels, strict=True):
            at = draw.randrange(9)
            words[at] = "éè"[label] + words[at]
        return list(map(" ".join, texts)), labels

    return of_drawn(marked(0, 300), marked(1, 80))
