"""Generated data sets: every label is what an independent solver reads from the text alone."""

import functools
import inspect
import itertools
import random
import re
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from refused import refused

from zoo.data.sources.corpus import IGNORED, Corpus, TaggedCorpus, whole_text
from zoo.data.sources.diagnostics.pool import drawn, length_groups
from zoo.registry.loading import built_ins

REGISTRY = built_ins()
FINGERPRINT = "6ca43adc77cc2d909ec0bc316c1409b8561568177162737842366d7a123210b8"
NUMBERS = "zero one two three four five six seven eight nine".split()


def even_pairs(words: list[str]) -> str:
    return "even" if words[0] == words[-1] else "odd"


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


def copy(tokens: list[str]) -> list[str]:
    symbols = iter([token for token in tokens if token not in ("blank", "copy")])
    return [next(symbols) if token == "copy" else "" for token in tokens]


def flip_flop(tokens: list[str]) -> list[str]:
    answers, held = [], ""
    for token in tokens:
        held = {"write-0": "zero", "write-1": "one"}.get(token, held)
        answers.append(held if token == "read" else "")
    return answers


def majority(tokens: list[str]) -> list[str]:
    return [sorted(tokens)[len(tokens) // 2]] * len(tokens)


def parity(tokens: list[str]) -> list[str]:
    return ["odd" if tokens[:end].count("one") % 2 else "even" for end in range(1, len(tokens) + 1)]


def cycle(tokens: list[str]) -> list[str]:
    ring, answers = NUMBERS[:5], []
    for token in tokens:
        if token == "next":
            ring = [*ring[1:], ring[0]]
        elif token == "back":
            ring = [ring[-1], *ring[:-1]]
        answers.append(ring[0])
    return answers


TEXT_SOLVERS = {
    "even-pairs": even_pairs,
    "modular": modular,
    "missing-duplicate": missing_duplicate,
}
TOKEN_SOLVERS = {
    "recall": recall,
    "noisy-recall": recall,
    "selective-copy": copy,
    "copying": copy,
    "flip-flop": flip_flop,
    "majority": majority,
    "parity": parity,
    "cycle": cycle,
}
SOLVERS: dict[str, Callable] = {**TEXT_SOLVERS, **TOKEN_SOLVERS}
SHORTER = {
    **dict.fromkeys(SOLVERS, "length=24, test_length=60"),
    "majority": "length=23, test_length=60",
    "recall": "pairs=12, test_length=60",
    "copying": "items=12, test_length=60",
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
    corpus = build(f"{name}(train=300, test=90, {SHORTER[name]})")
    for texts, labels, _ in corpus.splits.values():
        for text, label in zip(texts, labels, strict=True):
            assert corpus.label_names[label] == TEXT_SOLVERS[name](text.split()), text
    whole = made(name, train=200, test=100)
    for _, labels, _ in whole.splits.values():
        assert len(set(Counter(labels).values())) == 1  # every class is as frequent


@pytest.mark.parametrize("name", TOKEN_SOLVERS)
def test_the_tags_of_every_text_are_the_answers_to_it(name):
    corpus = build(f"{name}(train=100, test=60, {SHORTER[name]})")
    for texts, tags, _ in corpus.splits.values():
        for tokens, text_tags in zip(texts, tags, strict=True):
            names = ["" if tag == IGNORED else corpus.label_names[tag] for tag in text_tags]
            assert names == TOKEN_SOLVERS[name](tokens), tokens
            assert any(names)


@pytest.mark.parametrize("name", [*SOLVERS, "order", "newswire"])
def test_no_two_texts_are_equal_and_the_seed_alone_decides_them(name):
    random.seed(5)
    corpus = made(name, seed=3, train=60, test=30)
    random.seed(6)
    assert made(name, seed=3, train=60, test=30) == corpus
    held_out = len(corpus.splits["validation"].texts) if name != "newswire" else 0
    assert len(set(texts_of(corpus))) == 90 + held_out
    assert held_out in (0, 498, 500)
    # Of a diagnostic's words each has one id, however small the vocabulary.
    assert corpus.word_level == (name in SOLVERS)
    assert corpus.fingerprint != made(name, seed=4, train=60, test=30).fingerprint


@pytest.mark.parametrize("name", ["even-pairs", "recall"])
def test_what_is_held_out_is_the_same_however_many_texts_there_are_to_train_on(name):
    few, many = made(name, train=60), made(name, train=3000)
    assert {**few.splits, "train": ()} == {**many.splits, "train": ()}


def test_every_machine_draws_the_same_texts():
    assert made("recall", train=60, test=30).fingerprint == FINGERPRINT


@pytest.mark.parametrize("name", [*SOLVERS, "order"])
def test_parameters_that_are_not_named_are_those_of_the_table(name):
    component = REGISTRY.get("data", name)
    defaults = (
        inspect.signature(drawn).parameters | inspect.signature(component.resolve()).parameters
    )
    of_groups = inspect.signature(length_groups).parameters
    for parameter, value in component.parameters.items():
        assert (defaults.get(parameter) or of_groups[parameter]).default == value


@pytest.mark.parametrize("name", SOLVERS)
def test_test_texts_are_in_groups_of_lengths_with_as_many_in_each(name):
    corpus = build(f"{name}(train=60, test=30, {SHORTER[name]})")
    lengths = [len(text.split()) for text in map(whole_text, corpus.test.texts)]
    groups = list(zip(corpus.test.groups, lengths, strict=True))
    most = 23 if name == "majority" else 24
    names = [f"to {most}", f"{most + 1} to 30", "31 to 60"]
    assert Counter(corpus.test.groups) == dict.fromkeys(names, 10)
    assert list(dict.fromkeys(corpus.test.groups)) == names
    for group, length in groups:
        low, _, high = group.rpartition(" to ") if " to " in group else ("0", "", group[3:])
        assert int(low) <= length <= int(high)
    assert max(len(text.split()) for text in map(whole_text, corpus.train.texts)) <= most


@pytest.mark.parametrize("name", ["recall", "noisy-recall", "selective-copy", "copying"])
def test_the_floor_is_one_answer_for_all_that_a_text_asks_for(name):
    corpus = made(name, train=60, test=200)
    counts = [Counter(t for t in tags if t != IGNORED) for tags in corpus.test.targets]
    asked = sum(sum(count.values()) for count in counts)
    assert corpus.chance == sum(max(count.values()) for count in counts) / asked
    of_all = sum(counts, Counter())  # every label is about as frequent as any other
    assert max(of_all.values()) / asked < 1 / len(corpus.label_names) + 0.03


@pytest.mark.parametrize("name", ["parity", "cycle"])
def test_the_floor_of_counting_is_the_likeliest_answer_to_each_word(name):
    corpus, counts = made(name, train=60, test=200), dict[str, Counter[int]]()
    for tokens, tags in zip(*corpus.test[:2], strict=True):
        for token, tag in zip(tokens, tags, strict=True):
            counts.setdefault(token, Counter())[tag] += 1
    right = sum(max(count.values()) for count in counts.values())
    assert corpus.chance == right / sum(count.total() for count in counts.values())
    assert 1 / len(corpus.label_names) < corpus.chance < 1 / len(corpus.label_names) + 0.06


def test_the_floor_of_even_pairs_is_what_numbers_of_symbols_tell():
    corpus = made("even-pairs", train=60, test=100, length=10)

    @functools.cache
    def best(length: int, ones: int) -> float:
        ends = (0, length - 1)
        places = list(itertools.combinations(range(length), ones))
        equal = sum((ends[0] in ones_at) == (ends[1] in ones_at) for ones_at in places)
        return max(equal, len(places) - equal) / len(places)

    scores = [best(len(words), words.count("one")) for words in map(str.split, corpus.test.texts)]
    assert corpus.chance == pytest.approx(statistics.fmean(scores))


def test_the_floor_of_flip_flop_is_the_bit_that_is_written_more_often():
    """The written bits in every order: no answer for all reads of a text is right more often."""
    corpus = made("flip-flop", train=60, test=40, length=14)
    best, reads = 0.0, 0
    for tokens in corpus.test.texts:
        written = [place for place, token in enumerate(tokens) if token.startswith("write")]
        orders = list(itertools.permutations([tokens[place] for place in written]))[:5040]
        right = Counter[str]()
        for order in orders:
            other = list(tokens)
            for place, token in zip(written, order, strict=True):
                other[place] = token
            right.update(flip_flop(other))
        del right[""]
        best += max(right.values()) / len(orders)
        reads += tokens.count("read")
    assert corpus.chance == pytest.approx(best / reads)


def test_the_page_has_the_budget_floor_and_controls_of_every_diagnostic():
    page = (Path(__file__).parents[3] / "docs" / "comparing.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \|.*?\| ([\d,]+ \| .*) ?\|$", page, re.MULTILINE)
    made_rows = {}
    for name in [*SOLVERS, "order"]:
        corpus, budget = made(name, train=60), REGISTRY.get("data", name).parameters["train"]
        controls = [f"`{row}`" for row in corpus.controls.values()] or ["", ""]
        assert [*corpus.controls] in (["positive", "negative"], [])
        made_rows[name] = [f"{budget:,}", f"{corpus.chance:.2f}", *controls]
    assert {name: [*map(str.strip, row.split("|"))] for name, row in rows} == made_rows


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
        ("even-pairs(length=40, test_length=30)", "even-pairs needs test_length >= 41, not 30"),
        ("even-pairs(test=100, test_length=200)", "even-pairs needs a multiple of 3 test texts"),
        ("missing-duplicate(length=40, test_length=41)", "has no text of 41 to 41 words"),
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
