"""The trainings of a plan: those that settings are chosen by, and those with the chosen ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.errors import ZooError
from zoo.sweep.plan import Plan, PlanRow


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
            if row.is_estimator:
                continue
            for training in request.trainings():
                held_out = {"validation": request.tuning_share}
                yield Trial(row, seed, training.model_copy(update=held_out))


def seed_trials(request: Request, plan: Plan, chosen: Mapping[str, Training]) -> Iterator[Trial]:
    """Every row for which settings were chosen, by its name, with every seed."""
    # Seeds outermost: an interrupted run then has whole rounds of cells to compare.
    for seed in request.seeds:
        for row in plan.runnable:
            if row.name in chosen and row.trained_with(seed, request.seeds):
                yield Trial(row, seed, chosen[row.name])


def all_trials(request: Request, plan: Plan) -> tuple[list[Trial], list[Trial]]:
    """What is trained at most: to choose settings, and once they are chosen.

    The settings of the second are those of the request, as long as none are chosen.
    """
    if "train" not in request.phases:
        return [], []
    chosen = dict.fromkeys((row.name for row in plan.runnable), request.training)
    trials = seed_trials(request, plan, chosen)
    return list(tuning_trials(request, plan)), list(trials)
