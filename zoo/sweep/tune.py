"""Training settings chosen for each row on a held-out part of the training split.

Every row is trained with every combination of the values, with the same seeds, on the rest of the
training split. The combination with the best mean score on the held-out part becomes the row's
own. The scored split is not read before that, and every row has the same budget.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zoo.config.metric_description import MetricDescription
from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.errors import ZooError
from zoo.sweep.plan import Plan, PlanRow
from zoo.sweep.records import Record


@dataclass(frozen=True)
class Trial:
    """One training of a row."""

    row: PlanRow
    seed: int
    training: Training


def tuning_trials(request: Request, plan: Plan) -> Iterator[Trial]:
    """Every row with every combination; none where there is nothing to choose.

    Rows that fit themselves have no such settings. Raises ZooError for more tuning seeds than
    seeds.
    """
    if not request.tuned:
        return
    seeds = request.seeds[: request.tuning_seeds]
    if len(seeds) < request.tuning_seeds:
        raise ZooError(
            f"--tuning-seeds {request.tuning_seeds}: only {len(request.seeds)} in --seeds; "
            "ask for more there"
        )
    for seed in seeds:
        for row in plan.runnable:
            if row.fits_itself:
                continue
            for training in request.trainings():
                held_out = {"validation": request.tuning_share}
                yield Trial(row, seed, training.model_copy(update=held_out))


def chosen_settings(
    request: Request, plan: Plan, records: Sequence[Record], metric: MetricDescription
) -> dict[str, Training]:
    """Row name to its training settings; a row is missing where none of its trials ended well.

    records: of the trials. Of the combinations with the fewest failed trials, the one with the
    best mean is chosen; of equals, the first.
    """
    scores: dict[str, dict[Training, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        training = Training(**record.config["training"] | {"validation": 0.0})
        value = record.metrics.get(metric.name)
        if record.kind == "tune" and record.status == "ok" and value is not None:
            scores[record.name][training].append(value)
    chosen = {}
    for row in plan.runnable:
        if not request.tuned or row.fits_itself:
            chosen[row.name] = request.training
        elif found := scores[row.name]:
            most = max(map(len, found.values()))
            whole = {t: v for t, v in found.items() if len(v) == most}
            order = [training for training in request.trainings() if training in whole]
            chosen[row.name] = max(
                order, key=lambda training: metric.better(statistics.fmean(whole[training]))
            )
    return chosen
