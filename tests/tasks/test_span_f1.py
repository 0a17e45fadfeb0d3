"""F1 of spans: spans by their definition, and scores as the CoNLL evaluation counts them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.tasks.metrics import span_f1, spans

NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-X-Y", "I-X-Y"]
TEXTS = st.lists(
    st.lists(st.tuples(*[st.integers(0, len(NAMES) - 1)] * 2), min_size=1, max_size=8),
    min_size=1,
    max_size=5,
)


def by_definition(tags: list[str]) -> set[tuple[int, int, str]]:
    """Every stretch of tokens that is a span, each decided by itself.

    All its tags have one type, none after the first is a B, its first tag is a B or follows a token
    of another type, and what follows it does not continue it.
    """
    whole = ["O", *tags, "O"]
    spans_of = set()
    for first in range(1, len(tags) + 1):
        for last in range(first, len(tags) + 1):
            inside = whole[first : last + 1]
            kind = inside[0][2:]
            begins = inside[0].startswith("B-") or whole[first - 1][2:] != kind
            goes_on = whole[last + 1] == f"I-{kind}"
            same = all(tag == f"I-{kind}" for tag in inside[1:])
            if kind and begins and same and not goes_on:
                spans_of.add((first - 1, last, kind))
    return spans_of


def score(texts: list[list[tuple[int, int]]]) -> float:
    """The metric of texts of (true tag, predicted tag)."""
    labels, predicted = np.array([pair for text in texts for pair in text]).T
    lengths = [len(text) for text in texts]
    outputs = {"labels": labels, "predicted": predicted, "names": NAMES, "lengths": lengths}
    return span_f1().compute(outputs)


@given(st.lists(st.sampled_from(NAMES), max_size=9))
def test_spans_are_those_of_the_definition(tags):
    assert spans(tags) == by_definition(tags)


@given(TEXTS)
def test_f1_is_twice_the_right_spans_over_all_true_and_predicted_ones(texts):
    right = total = 0
    for text in texts:
        true, predicted = (
            by_definition([NAMES[t] for t in tags]) for tags in zip(*text, strict=True)
        )
        right, total = right + len(true & predicted), total + len(true) + len(predicted)
    expected = float(Fraction(2 * right, total)) if total else 0.0
    assert score(texts) == pytest.approx(expected, rel=1e-15)


# Scores that seqeval 1.2.2, and so conlleval, gives to these tags.
@pytest.mark.parametrize(
    ("true", "predicted", "expected"),
    [
        ("O O O B-MISC I-MISC I-MISC O", "O O B-MISC I-MISC I-MISC I-MISC O", 0.0),
        ("B-PER I-PER O", "B-PER I-PER O", 1.0),
        ("B-PER I-PER O B-LOC", "B-PER I-PER O B-PER", 0.5),
        ("B-PER I-PER", "I-PER I-PER", 1.0),
        ("B-PER I-PER", "B-LOC I-PER", 0.0),
        ("B-PER B-PER", "B-PER I-PER", 0.0),
        ("B-PER I-LOC O", "B-PER B-LOC O", 1.0),
        ("O O", "O O", 0.0),
        ("O B-PER", "O O", 0.0),
        ("O O", "B-PER O", 0.0),
        ("B-A O B-B O B-C", "B-A O B-C O B-C", 2 / 3),
    ],
)
def test_known_scores(true, predicted, expected):
    names = sorted({*true.split(), *predicted.split()})
    labels, predicted_tags = (
        np.array([names.index(t) for t in tags.split()]) for tags in (true, predicted)
    )
    outputs = {
        "labels": labels,
        "predicted": predicted_tags,
        "names": names,
        "lengths": [len(labels)],
    }
    assert span_f1().compute(outputs) == pytest.approx(expected)
