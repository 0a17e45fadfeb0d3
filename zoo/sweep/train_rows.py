"""The training phase of a run: settings are chosen, then every row is trained with every seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.execution.base import Job, Result, TrainJob
from zoo.registry.code_hash import plugin_hashes
from zoo.sweep.keep_models import KeptModels
from zoo.sweep.keys import digest, training_key
from zoo.sweep.run_state import RunState, environment_of, identity, what_of
from zoo.sweep.trials import Trial, seed_trials, tuning_trials
from zoo.sweep.tune import chosen_settings


def train_rows(
    this: RunState, only_known: bool, fresh: bool, models: KeptModels
) -> tuple[dict[str, Training], int]:
    """Row name to the settings chosen for it, and how many models were trained.

    only_known: train nothing, take over what is there. fresh: train again what is there. models:
    where trained models are kept.
    """
    request = this.request
    trained = 0
    if request.tuned:
        trained = _train(this, "tune", tuning_trials(request, this.plan), only_known, fresh, None)
    chosen = chosen_settings(request, this.plan, this.records, this.metrics[0])
    if not only_known:
        _without_settings(this, chosen)
    trials = seed_trials(request, this.plan, chosen)
    trained += _train(this, "train", trials, only_known, fresh, models)
    if not only_known:
        trained += models.complete()
    return chosen, trained


def _without_settings(this: RunState, chosen: Mapping[str, Training]) -> None:
    """A record for every row none of whose trials ended well: there is nothing to train it with."""
    last = {record.name: record for record in this.records if record.kind == "tune"}
    for row in this.plan.runnable:
        if row.name not in chosen and row.name in last:
            failed, training = last[row.name], this.request.training
            reason = f"no {' and '.join(this.request.tuned)} could be chosen: {failed.reason}"
            key = digest(["without settings", failed.key])
            for seed in this.request.seeds:
                this.record(
                    "train",
                    row,
                    key,
                    training,
                    failed.status,
                    reason,
                    seed,
                    environment=failed.environment,
                    traceback=failed.traceback,
                )


def _train(
    this: RunState,
    kind: Literal["tune", "train"],
    trials: Iterable[Trial],
    only_known: bool,
    fresh: bool,
    models: KeptModels | None,
) -> int:
    """Carry out the trials that are not known; how many there were.

    models: where their models are kept; None: nowhere.
    """
    jobs: list[Job] = []
    started: dict[str, Trial] = {}
    for trial in trials:
        row, key = trial.row, key_of_training(this, trial)
        what = what_of(kind, identity(row), trial.seed, trial.training)
        if not this.reuse(key, only_known or not fresh, what) and not only_known:
            setup = replace(this.prepared.setup, training=trial.training)
            name = f"{row.name} seed {trial.seed}{_values(this.request, trial)}"
            weights = models is not None and models.wants(row.model)
            job = TrainJob(setup, name, key, row.model, trial.seed, save_weights=weights)
            jobs.append(job)
            started[key] = trial

    def ended(job: Job, result: Result) -> None:
        trial = started[job.key]
        assert isinstance(job, TrainJob)
        # Before the record: what a kill leaves without a record is trained and kept again.
        model = models.keep(job, result) if models and job.save_weights else ""
        this.record(
            kind,
            trial.row,
            job.key,
            trial.training,
            result.status,
            result.reason,
            trial.seed,
            metrics={**result.metrics, "seconds": result.seconds},
            curve=[dict(entry) for entry in result.curve],
            traceback=result.traceback,
            model=model,
            **environment_of(result),
        )

    this.run_jobs(kind, jobs, ended)
    return len(jobs)


def key_of_training(this: RunState, trial: Trial) -> str:
    """The key of a training's record."""
    plugins = plugin_hashes([*trial.row.choices, *this.plan.scoring])
    return training_key(identity(trial.row), trial.seed, this.config(trial.training), plugins)


def _values(request: Request, trial: Trial) -> str:
    """The values of the settings that are chosen for each row: `` lr=0.003``."""
    if trial.row.is_estimator:
        return ""
    return "".join(f" {name}={getattr(trial.training, name):g}" for name in request.tuned)
