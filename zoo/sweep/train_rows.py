"""The training phase of a run: settings are chosen, then every row is trained with every seed.

To choose settings, every row is trained with every combination of the values, with the same seeds,
on a part of the training split. The row's own becomes the first combination, in the order given,
whose mean score on the held-out rest is within a standard error of the best (Breiman et al. 1984,
section 3.4.3): a few held-out texts must not decide between two settings of which one fails with
another seed. The scored split is not read before that, and every row has the same budget.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from zoo.config.metric_description import MetricDescription
from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.execution.base import Job, Result, TrainJob
from zoo.sweep.keys import digest, result_key
from zoo.sweep.plan import Fit, Plan, seed_fits, tuning_fits
from zoo.sweep.records import Record
from zoo.sweep.run import Run, model_id


def train_rows(run: Run, only_known: bool) -> dict[str, Training]:
    """Train every row that is not known; row name to the settings chosen for it.

    only_known: train nothing, take over what is there.
    """
    request = run.request
    if request.tuned:
        _train(run, "tune", tuning_fits(request, run.plan), only_known)
    chosen = chosen_settings(request, run.plan, run.records, run.metrics[0])
    if not only_known:
        _without_settings(run, chosen)
    _train(run, "train", seed_fits(request, run.plan, chosen), only_known)
    return chosen


def _without_settings(run: Run, chosen: Mapping[str, Training]) -> None:
    """A record for every row none of whose tuning ended well: there is nothing to train it with."""
    last = {record.name: record for record in run.records if record.kind == "tune"}
    for row in run.plan.runnable:
        if row.name in chosen or row.name not in last:
            continue
        failed = last[row.name]
        reason = f"no {' and '.join(run.request.tuned)} could be chosen: {failed.reason}"
        key = digest(["without settings", failed.key])
        environment, trace = failed.environment, failed.traceback
        result = Result(failed.status, reason, trace, environment=environment)
        for seed in run.request.seeds:
            run.record("train", row, key, run.request.training, result, seed)


def _train(run: Run, kind: Literal["tune", "train"], fits: Iterable[Fit], only_known: bool) -> None:
    """Carry out the trainings that are not known."""
    jobs: list[Job] = []
    started: dict[str, Fit] = {}
    for fit in fits:
        row, key = fit.row, key_of_training(run, fit)
        if run.reuse(key, only_known or not run.fresh) or only_known:
            continue
        values = run.request.tuned if row.tunable else ()
        shown = "".join(f" {name}={getattr(fit.training, name):g}" for name in values)
        jobs.append(
            TrainJob(
                replace(run.setup, training=fit.training),
                f"{row.name} seed {fit.seed}{shown}",
                key,
                row.model,
                fit.seed,
            )
        )
        started[key] = fit

    def ended(job: Job, result: Result) -> None:
        fit = started[job.key]
        run.record(kind, fit.row, job.key, fit.training, result, fit.seed)

    run.run_jobs(kind, jobs, ended)
    run.trained += len(jobs)


def key_of_training(run: Run, fit: Fit) -> str:
    """The key of a training's record."""
    model, config = model_id(fit.row.model), run.keyed(fit.training)
    code = run.code("train", fit.row)
    return result_key("train", model, config, code, run.environment, fit.seed)


def chosen_settings(
    request: Request, plan: Plan, records: Sequence[Record], metric: MetricDescription
) -> dict[str, Training]:
    """Choose the settings of each row that is tuned, such as its learning rate: by row name.

    A row is missing where none of its tuning ended well.

    records: of the tuning. Of the combinations with the fewest failed trainings, the first is
    chosen whose mean is within a standard error of the best; where no error is known, the best.
    """
    tried: dict[str, dict[Training, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        training = Training(**record.config["training"] | {"validation": 0.0})
        scored = record.metrics.get(metric.name) is not None
        if record.kind == "tune" and record.status == "ok" and scored:
            tried[record.name][training].append(record)
    chosen = {}
    for row in plan.runnable:
        if not request.tuned or not row.tunable:
            chosen[row.name] = request.training
        elif found := tried[row.name]:
            most = max(map(len, found.values()))
            chosen[row.name] = _first_of_the_best(
                {t: found[t] for t in request.trainings() if len(found.get(t, ())) == most}, metric
            )
    return chosen


def _first_of_the_best(
    tried: Mapping[Training, Sequence[Record]], metric: MetricDescription
) -> Training:
    means = {
        training: statistics.fmean(record.metrics[metric.name] for record in records)
        for training, records in tried.items()
    }
    best = max(means, key=lambda training: metric.better(means[training]))
    limit = means[best]
    count = sum(_independent(record, metric) for record in tried[best])
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
