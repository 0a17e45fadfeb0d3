"""Precision, recall and F1 of every class, from the confusion matrices in a row's records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zoo.report.rows import Row


def confusions_of(row: Row) -> NDArray[np.int_] | None:
    """The confusion matrices by seed (seeds, truth, predicted); None unless all seeds have one."""
    matrices = [r.metrics.get("confusion") for _, r in sorted(row.trained.items())]
    return np.array(matrices) if matrices and all(matrices) else None


def labels_of(row: Row) -> list[str]:
    """The names of the classes; empty where the records have none."""
    records = row.trained.values()
    return next((list(map(str, r.config["data"].get("labels") or [])) for r in records), [])


def class_scores(confusions: NDArray[np.int_]) -> NDArray[np.float64]:
    """Precision, recall and F1 (seeds, classes, 3) of confusion matrices (seeds, classes, classes).

    A share of nothing counts as 0, as in scikit-learn with ``zero_division=0``.
    """
    right = np.diagonal(confusions, axis1=1, axis2=2).astype(float)
    predicted, true = confusions.sum(axis=1), confusions.sum(axis=2)
    precision = right / np.maximum(predicted, 1)
    recall = right / np.maximum(true, 1)
    f1 = 2 * right / np.maximum(predicted + true, 1)
    return np.stack([precision, recall, f1], axis=-1)
