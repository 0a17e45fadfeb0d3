"""The Pareto front, where ties count as ties."""

from __future__ import annotations

from zoo.report.tables.table import pareto


def judge(scores, tie=0.0):
    """A verdict by score; a difference within ``tie`` is a tie."""

    def verdict(one, other):
        if scores[one] is None or scores[other] is None:
            return None
        gap = scores[one] - scores[other]
        return 0 if abs(gap) <= tie else 1 if gap > 0 else -1

    return verdict


def test_better_on_both_dominates():
    standing = pareto("abc", judge({"a": 3, "b": 2, "c": 1}), judge({"a": 2, "b": 3, "c": 1}))
    assert standing == {"a": "front", "b": "front", "c": "dominated"}


def test_better_on_one_and_tied_on_the_other_is_tied():
    accuracy = judge({"fused": 0.95, "naive": 0.951}, tie=0.01)
    speed = judge({"fused": 2.0, "naive": 1.0})
    assert pareto(["fused", "naive"], accuracy, speed) == {"fused": "front", "naive": "tied"}


def test_ties_on_both_share_the_front():
    accuracy, speed = judge({"a": 1, "b": 2}, tie=5), judge({"a": 1, "b": 2}, tie=5)
    assert pareto("ab", accuracy, speed) == {"a": "front", "b": "front"}


def test_a_row_that_cannot_be_compared_dominates_nothing():
    accuracy, speed = judge({"a": None, "b": 1}), judge({"a": 2, "b": 1})
    assert pareto("ab", accuracy, speed) == {"a": "front", "b": "front"}


def test_one_row_is_the_front():
    assert pareto("a", judge({"a": 1}), judge({"a": 1})) == {"a": "front"}
