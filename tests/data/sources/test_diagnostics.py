"""Generated data sets: every label is what an independent solver reads from the text alone."""

import random
import re
from collections import Counter
from collections.abc import Callable

import pytest
from refused import refused

from zoo.data.sources.corpus import IGNORED, Corpus, TaggedCorpus
from zoo.registry.loading import built_ins

REGISTRY = built_ins()
NUMBERS = "zero one two three four five six seven eight nine".split()


def even_pairs(words: list[str]) -> str:
    return "even" if words[0] == words[-1] else "odd"


def parity(words: list[str]) -> str:
    state = "even"
    for word in words:
        if word == "one":
            state = {"even": "odd", "odd": "even"}[state]
    return state


def majority(words: list[str]) -> str:
    return sorted(words)[len(words) // 2]


def cycle(words: list[str]) -> str:
    ring = NUMBERS[:5]
    for word in words:
        if word == "next":
            ring = [*ring[1:], ring[0]]
        elif word == "back":
            ring = [ring[-1], *ring[:-1]]
    return ring[0]


def modular(words: list[str]) -> str:
    signs = {"plus": "+", "minus": "-", "times": "*"}
    expression = "".join(signs.get(word) or str(NUMBERS.index(word)) for word in words)
    return NUMBERS[eval(expression) % 5]


def missing_duplicate(words: list[str]) -> str:
    half = len(words) // 2
    (answer,) = (
        symbol
        for symbol, other in (("zero", "one"), ("one", "zero"))
        if (whole := [{"hidden": symbol, "lost": other}.get(w, w) for w in words])[:half]
        == whole[half:]
    )
    return answer


def recall(tokens: list[str]) -> list[str]:
    """Also of noisy recall, where key and value are two tokens."""
    text = " ".join(tokens)
    held = dict(re.findall(r"(k\d+)[= ](v\d+)", text))
    return [held[token[:-1]] if token.endswith("?") else "" for token in tokens]


def selective_copy(tokens: list[str]) -> list[str]:
    symbols = iter([token for token in tokens if token not in ("blank", "copy")])
    return [next(symbols) if token == "copy" else "" for token in tokens]


TEXT_SOLVERS = {
    "even-pairs": even_pairs,
    "parity": parity,
    "majority": majority,
    "cycle": cycle,
    "modular": modular,
    "missing-duplicate": missing_duplicate,
}
TOKEN_SOLVERS = {
    "recall": recall,
    "noisy-recall": recall,
    "selective-copy": selective_copy,
}
SOLVERS: dict[str, Callable] = {**TEXT_SOLVERS, **TOKEN_SOLVERS}
LONGER = {
    **dict.fromkeys(SOLVERS, "length=24, test_length=60"),
    "recall": "pairs=12, test_length=60",
}


def made(name: str, **parameters: object) -> Corpus | TaggedCorpus:
    arguments = ", ".join(f"{key}={value}" for key, value in parameters.items())
    return build(f"{name}({arguments})")


def build(spec: str) -> Corpus | TaggedCorpus:
    return REGISTRY.choose("data", spec).build()


def texts_of(corpus: Corpus | TaggedCorpus) -> list[str]:
    return [
        text if isinstance(text, str) else " ".join(text)
        for texts, _, _ in corpus.splits.values()
        for text in texts
    ]


@pytest.mark.parametrize("name", TEXT_SOLVERS)
def test_the_label_of_every_text_is_the_answer_to_it(name):
    corpus = made(name, train=300, test=90, length=24, test_length=60)
    for texts, labels, _ in corpus.splits.values():
        for text, label in zip(texts, labels, strict=True):
            assert corpus.label_names[label] == TEXT_SOLVERS[name](text.split()), text
    whole = made(name, train=200, test=100)
    for _, labels, _ in whole.splits.values():
        assert len(set(Counter(labels).values())) == 1  # every class is as frequent
    assert whole.chance == 1 / len(whole.label_names)


@pytest.mark.parametrize("name", TOKEN_SOLVERS)
def test_the_tags_of_every_text_are_the_answers_to_it(name):
    longer = {"pairs": 12} if name == "recall" else {"length": 24}
    corpus = made(name, train=100, test=60, test_length=60, **longer)
    scored = 0
    for texts, tags, _ in corpus.splits.values():
        for tokens, its_tags in zip(texts, tags, strict=True):
            names = ["" if tag == IGNORED else corpus.label_names[tag] for tag in its_tags]
            assert names == TOKEN_SOLVERS[name](tokens), tokens
            scored += len(tokens) - names.count("")
    assert scored >= 4 * 160


@pytest.mark.parametrize("name", [*SOLVERS, "order", "newswire"])
def test_no_two_texts_are_equal_and_the_seed_alone_decides_them(name):
    random.seed(5)
    corpus = made(name, seed=3, train=60, test=30)
    random.seed(6)
    assert made(name, seed=3, train=60, test=30) == corpus
    assert len(set(texts_of(corpus))) == 90
    # Of a diagnostic's words each has one id, however small the vocabulary.
    assert corpus.word_level == (name in SOLVERS)
    assert corpus.fingerprint != made(name, seed=4, train=60, test=30).fingerprint


@pytest.mark.parametrize("name", SOLVERS)
def test_test_texts_are_in_groups_of_lengths_with_as_many_in_each(name):
    corpus = build(f"{name}(train=60, test=30, {LONGER[name]})")
    test = [text.split() for text in texts_of(corpus)[60:]]
    groups = list(zip(corpus.test.groups, map(len, test), strict=True))
    assert Counter(corpus.test.groups) == {"to 24": 10, "25 to 30": 10, "31 to 60": 10}
    assert list(dict.fromkeys(corpus.test.groups)) == ["to 24", "25 to 30", "31 to 60"]
    for group, length in groups:
        low, _, high = group.rpartition(" to ") if " to " in group else ("0", "", group[3:])
        assert int(low) <= length <= int(high)
    assert max(len(text.split()) for text in texts_of(corpus)[:60]) <= 24


@pytest.mark.parametrize("name", TOKEN_SOLVERS)
def test_every_tag_is_about_as_frequent_as_any_other(name):
    corpus = made(name, train=300, test=60)
    counts = Counter(t for tags in corpus.train.targets for t in tags if t != IGNORED)
    assert corpus.chance == 1 / len(corpus.label_names) == 1 / 8
    most = max(counts.values()) / sum(counts.values())
    assert corpus.chance <= most <= corpus.chance + 0.03


def test_exchanging_the_two_missing_symbols_keeps_all_counts_and_changes_the_class():
    corpus = made("missing-duplicate", train=50, test=10)
    for text, label in zip(corpus.train.texts, corpus.train.targets, strict=True):
        words = text.split()
        half = len(words) // 2
        places = [(words.index(word) + half) % len(words) for word in ("hidden", "lost")]
        other = list(words)
        other[places[0]], other[places[1]] = words[places[1]], words[places[0]]
        assert missing_duplicate(other) != corpus.label_names[label]
        assert all(
            Counter(other[at]) == Counter(words[at]) for at in map(slice, (0, half), (half, None))
        )


def test_recall_has_a_token_for_each_pair_and_a_query_for_each_key():
    corpus = made("recall", train=20, test=10, pairs=32)
    assert {len(tokens) for tokens in corpus.train.texts} == {64}
    assert {sum(tag != IGNORED for tag in tags) for tags in corpus.train.targets} == {32}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("even-pairs(length=4)", "even-pairs has too few different texts of class"),
        ("even-pairs(length=1)", "even-pairs needs length >= 2, not 1"),
        ("even-pairs(test=0)", "even-pairs needs test >= 1, not 0"),
        ("even-pairs(test_length=30)", "even-pairs needs test_length >= 41, not 30"),
        ("even-pairs(test=100, test_length=200)", "even-pairs needs a multiple of 3 test texts"),
        ("missing-duplicate(test_length=41)", "has no text of 41 to 41 words"),
        ("recall(pairs=0)", "recall needs pairs >= 1"),
        ("recall(pairs=1, values=2)", "recall has too few different texts"),
        ("noisy-recall(pairs=17)", "noisy-recall needs pairs <= 16, not 17"),
        ("selective-copy(symbols=1)", "selective-copy needs symbols >= 2, not 1"),
        ("order(train=0)", "multiples of 6"),
        ("order(train=100)", "multiples of 6"),
        ("order(test=-6)", "multiples of 6"),
        ("order(max_distance=0)", "order needs max_distance >= 1"),
        ("newswire(train=9, test=1)", "newswire needs train >= 10, not 9"),
    ],
)
def test_impossible_sizes_are_refused_in_one_line(spec, message):
    refused(message, build, spec)
