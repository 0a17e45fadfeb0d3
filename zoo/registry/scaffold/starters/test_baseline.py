"""baseline/my-baseline finds the probabilities that one gets by hand."""

from __future__ import annotations

import math

import pytest

from zoo.registry.scaffold.starters.baseline import MyBaseline


def test_the_probabilities_of_words_are_smoothed_shares_of_counts() -> None:
    """Counts by hand."""
    model = MyBaseline(smoothing=1.0)
    model.fit(["good good day", "bad day"], [0, 1])

    bad, day, good = model.pipeline[-1].feature_log_prob_[0]
    # The first class has good twice, day once and bad never; 1 is added to each of the three.
    assert [bad, day, good] == pytest.approx([math.log(1 / 6), math.log(2 / 6), math.log(3 / 6)])
    assert model.parameters == 2 * 3 + 2
    assert model.predict(["a good one", "bad, very bad"]) == [0, 1]
