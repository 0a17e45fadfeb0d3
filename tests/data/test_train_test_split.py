"""Dividing a table without a test split: both parts have the classes in the same shares."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.data.sources.splits import TEST_SHARE, stratified
from zoo.errors import ZooError

LABELS = st.lists(st.integers(2, 40), min_size=2, max_size=6).map(
    lambda counts: [label for label, count in enumerate(counts) for _ in range(count)]
)


@settings(max_examples=60, deadline=None)
@given(LABELS.flatmap(st.permutations), st.integers(0, 2**31))
def test_every_document_is_in_one_split_and_every_class_in_both(
    labels: list[int], seed: int
) -> None:
    train, test = stratified(labels, seed)
    assert sorted(train + test) == list(range(len(labels)))
    assert (train, test) == (sorted(train), sorted(test))
    assert (train, test) == stratified(labels, seed)
    whole, in_test = Counter(labels), Counter(labels[i] for i in test)
    for label, count in whole.items():
        assert 1 <= in_test[label] < count
        assert abs(in_test[label] - TEST_SHARE * count) <= 0.5


def test_another_seed_is_another_split() -> None:
    labels = [0, 1] * 50
    assert stratified(labels, 0) != stratified(labels, 1)


def test_a_class_of_one_document_cannot_be_in_both() -> None:
    with pytest.raises(ZooError, match="class 'rare' has only one document"):
        stratified(["common"] * 9 + ["rare"], 0)
