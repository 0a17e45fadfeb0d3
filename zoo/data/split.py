"""Dividing one table into train and test, so that both have the classes in like shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from zoo.errors import ZooError

TEST_SHARE = 0.25


def stratified(
    labels: Sequence[Hashable], seed: int, *, what: str = "the data"
) -> tuple[list[int], list[int]]:
    """Indices of train (three quarters) and test (one quarter), each in ascending order.

    Every class stands in both, in its own share; the same labels and seed give the same split.
    Raises ZooError where that cannot be: a class of one document, or fewer documents than that.
    """
    counts = Counter(labels)
    single = [str(label) for label, count in counts.items() if count < 2]
    if single:
        raise ZooError(
            f"{what} has no test split and cannot be divided: class '{single[0]}' "
            "has only one document"
        )
    from sklearn.model_selection import train_test_split

    # Small classes among few documents: the test split still has room for one of each.
    test_size = max(round(len(labels) * TEST_SHARE), len(counts))
    codes = {label: code for code, label in enumerate(counts)}
    train, test = train_test_split(
        list(range(len(labels))),
        test_size=test_size,
        stratify=[codes[label] for label in labels],
        random_state=seed,
    )
    return sorted(train), sorted(test)
