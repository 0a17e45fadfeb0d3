"""The Pareto front, where ties count as ties."""

import pytest

from zoo.report.tables.table import pareto


def judge(scores, tie):
    """A verdict by score; a difference within ``tie`` is a tie."""

    def verdict(one, other):
        if scores[one] is None or scores[other] is None:
            return None
        gap = scores[one] - scores[other]
        return 0 if abs(gap) <= tie else 1 if gap > 0 else -1

    return verdict


@pytest.mark.parametrize(
    ("first", "second", "tie", "standing"),
    [
        ([3, 2, 1], [2, 3, 1], 0, ["front", "front", "dominated"]),
        ([3, 3], [2, 1], 0, ["front", "tied"]),
        ([2, 1], [3, 3], 0, ["front", "tied"]),
        ([1, 2], [1, 2], 5, ["front", "front"]),
        ([None, 1], [2, 1], 0, ["front", "front"]),
        ([1], [1], 0, ["front"]),
    ],
    ids=["dominated", "tied on one", "tied on the other", "tied on both", "unknown", "alone"],
)
def test_a_row_is_on_the_front_unless_another_is_better_and_at_least_tied(
    first, second, tie, standing
):
    names = "abc"[: len(first)]
    scores = [dict(zip(names, values, strict=True)) for values in (first, second)]
    found = pareto(names, *(judge(one, tie) for one in scores), names)
    assert found == dict(zip(names, standing, strict=True))
