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
from zoo.sweep.plan import Plan, Row, seed_trainings, tuning_trainings
from zoo.sweep.records import Record
from zoo.sweep.run import PreparedRun, Run, model_id


def train_rows(run: Run) -> dict[str, Training]:
    """Train every row that is not known; row name to the settings chosen for it.

    Where the request has no such phase, nothing is trained, and what is there is taken over.
    """
    request, plan = run.prepared.request, run.prepared.plan
    if request.tuned:
        _train(run, "tune", tuning_trainings(request, plan))
    chosen = chosen_settings(request, plan, run.records, run.prepared.metrics[0])
    if "train" in request.phases:
        _without_settings(run, chosen)
    _train(run, "train", seed_trainings(request, plan, chosen))
    return chosen


def _without_settings(run: Run, chosen: Mapping[str, Training]) -> None:
    """A record for every row none of whose tuning ended well: there is nothing to train it with."""
    request = run.prepared.request
    last = {record.name: record for record in run.records if record.kind == "tune"}
    for row in run.prepared.plan.runnable:
        if row.name in chosen or row.name not in last:
            continue
        failed = last[row.name]
        reason = f"no {' and '.join(request.tuned)} could be chosen: {failed.reason}"
        key = digest(["without settings", failed.key])
        environment, trace = failed.environment, failed.traceback
        result = Result(failed.status, reason, trace, environment=environment)
        for seed in request.seeds:
            run.record("train", row, key, request.training, result, seed)


def _train(
    run: Run, kind: Literal["tune", "train"], trainings: Iterable[tuple[Row, int, Training]]
) -> None:
    """Carry out the trainings that are not known."""
    prepared = run.prepared
    asked_for = "train" in prepared.request.phases
    rows: dict[str, Row] = {}  # by the key of the job
    jobs: list[TrainJob] = []
    for row, seed, training in trainings:
        key = key_of_training(prepared, row, seed, training)
        if run.reuse(key, asked_for=asked_for) or not asked_for:
            continue
        values = prepared.request.tuned if row.tunable else ()
        shown = "".join(f" {name}={getattr(training, name):g}" for name in values)
        setup = replace(prepared.setup, training=training)
        jobs.append(TrainJob(setup, f"{row.name} seed {seed}{shown}", key, row.model, seed))
        rows[key] = row

    def ended(job: Job, result: Result) -> None:
        assert isinstance(job, TrainJob)
        run.record(kind, rows[job.key], job.key, job.setup.training, result, job.seed)

    run.run_phase(kind, jobs, prepared.limits, ended)
    run.trained += len(jobs)


def key_of_training(prepared: PreparedRun, row: Row, seed: int, training: Training) -> str:
    """The key of a training's record."""
    model, config = model_id(row), prepared.keyed(training)
    code = prepared.code("train", row)
    return result_key("train", model, config, code, prepared.environment, seed)


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
