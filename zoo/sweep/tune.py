"""Training settings chosen for each row on a held-out part of the training split.

Every row is trained with every combination of the values, with the same seeds, on the rest of the
training split. The row's own becomes the first combination, in the order given, whose mean score on
the held-out part is within a standard error of the best (Breiman et al. 1984, section 3.4.3): a few
held-out texts must not decide between two settings of which one fails with another seed. The scored
split is not read before that, and every row has the same budget.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from zoo.config.metric_description import MetricDescription
from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.sweep.plan import Plan
from zoo.sweep.records import Record


def chosen_settings(
    request: Request, plan: Plan, records: Sequence[Record], metric: MetricDescription
) -> dict[str, Training]:
    """Row name to its training settings; a row is missing where none of its trials ended well.

    records: of the trials. Of the combinations with the fewest failed trials, the first is chosen
    whose mean is within a standard error of the best; where no error is known, the best.
    """
    trials: dict[str, dict[Training, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        training = Training(**record.config["training"] | {"validation": 0.0})
        scored = record.metrics.get(metric.name) is not None
        if record.kind == "tune" and record.status == "ok" and scored:
            trials[record.name][training].append(record)
    chosen = {}
    for row in plan.runnable:
        if not request.tuned or row.is_estimator:
            chosen[row.name] = request.training
        elif found := trials[row.name]:
            most = max(map(len, found.values()))
            chosen[row.name] = _first_of_the_best(
                {t: found[t] for t in request.trainings() if len(found.get(t, ())) == most}, metric
            )
    return chosen


def _first_of_the_best(
    trials: Mapping[Training, Sequence[Record]], metric: MetricDescription
) -> Training:
    means = {
        training: statistics.fmean(record.metrics[metric.name] for record in records)
        for training, records in trials.items()
    }
    best = max(means, key=lambda training: metric.better(means[training]))
    limit = means[best]
    count = sum(_independent(record, metric) for record in trials[best])
    if count and (metric.lowest, metric.highest) == (0.0, 1.0) and metric.higher_is_better:
        limit = one_error_below(limit, count)
    return next(t for t in means if metric.better(means[t]) >= metric.better(limit))


def _independent(record: Record, metric: MetricDescription) -> float:
    """How many independent examples the score is the mean of; 0 where unknown."""
    metrics = record.metrics
    known = metrics.get("effective_examples", {}).get(metric.name)
    return float(known or metrics.get("texts") or metrics.get("examples") or 0)


def one_error_below(share: float, count: float) -> float:
    """A standard error below a share of so many examples.

    The lower end of Wilson's interval (1927) with z = 1; the usual error √(p (1 - p) / n) is zero
    where all examples are right.
    """
    centre = share + 1 / (2 * count)
    half = math.sqrt(share * (1 - share) / count + 1 / (4 * count**2))
    return (centre - half) / (1 + 1 / count)
