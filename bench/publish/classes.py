"""Precision, recall and F1 of every class, over the seeds of a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.report.stats.intervals import Interval, mean_interval
from zoo.report.tables.rows import Row


@dataclass(frozen=True)
class ClassReport:
    """One class of one row: means over seeds, and the documents of it that a seed scores."""

    label: str
    precision: Interval
    recall: Interval
    f1: Interval
    support: float


def class_report(row: Row) -> list[ClassReport]:
    """From the confusion matrices in a row's records; empty where there are none.

    A class that was never predicted has a precision of 0, as scikit-learn has it.
    """
    records = [r for _, r in sorted(row.trials.items()) if r.metrics.get("confusion")]
    if not records:
        return []
    numbers = range(len(records[0].metrics["confusion"]))
    labels = [str(label) for label in records[0].config["data"].get("labels", numbers)]
    # (seeds, truth, predicted)
    confusion = np.array([r.metrics["confusion"] for r in records], dtype=float)
    right = np.diagonal(confusion, axis1=1, axis2=2)
    truly, given = confusion.sum(axis=2), confusion.sum(axis=1)
    shares = _shares(right, given), _shares(right, truly), _shares(2 * right, truly + given)
    means = [[mean_interval(share[:, i].tolist()) for share in shares] for i in range(len(labels))]
    return [
        ClassReport(label, precision, recall, f1, float(truly[:, i].mean()))
        for i, (label, (precision, recall, f1)) in enumerate(zip(labels, means, strict=True))
    ]


def _shares(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
