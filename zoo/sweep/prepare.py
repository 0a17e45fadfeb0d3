"""What comes before any training: the data, and an inspection of the machine that runs the jobs."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zoo.config.metric_description import MetricDescription
from zoo.config.request import Request
from zoo.config.settings import Execution
from zoo.data.sources.splits import ScoringNotice
from zoo.errors import ZooError
from zoo.execution.base import (
    DataReference,
    Ended,
    Executor,
    InspectJob,
    Job,
    JobSetup,
    Limits,
    ModelSpec,
    Notice,
    PluginFile,
    Result,
)
from zoo.execution.cores import seems_to_compute_on
from zoo.registry import Choice
from zoo.registry.code_hash import plugin_code, zoo_code
from zoo.registry.loading import Zoo
from zoo.sweep.initial_data import with_initial
from zoo.sweep.keys import JOB_CODE
from zoo.sweep.plan import Plan, PlanRow
from zoo.sweep.progress import Progress
from zoo.sweep.trials import all_trials
from zoo.tasks.base import Loaded


@dataclass(frozen=True)
class Prepared:
    """What all jobs of a request share.

    config: task, data, sizes, training and execution as resolved, for records. limits, environment:
    of trainings, on the machine that was inspected; cost_limits, cost_environment: of measurements
    there, which have its cores for themselves. refused: of the trials, those that a component
    refuses, and why.
    """

    loaded: Loaded
    setup: JobSetup
    limits: Limits
    cost_limits: Limits
    config: dict[str, Any]
    environment: Mapping[str, Any]
    cost_environment: Mapping[str, Any]
    refused: Mapping[str, str]


def open_executor(zoo: Zoo, on: str | Choice) -> contextlib.closing[Executor]:
    """The executor chosen, or of that name, connected now and closed at the end.

    Raises ZooError where there is none, or it cannot connect.
    """
    choice = zoo.registry.choose("executor", on) if isinstance(on, str) else on
    executor = choice.build()
    executor.connect()
    return contextlib.closing(executor)


def prepare(
    request: Request,
    plan: Plan,
    zoo: Zoo,
    executor: Executor,
    progress: Progress,
    rows: Sequence[PlanRow],
    trials: Sequence[ModelSpec] = (),
    *,
    all_data: bool = False,
) -> Prepared:
    """Load and encode the data, and inspect the machine.

    rows: those whose components were given parameters are built once, to see that they can be.
    trials: models that are built to see what components refuse. all_data: nothing is scored, and
    notices of what is held out are not said.
    Raises ZooError for data that cannot be had and for values that a component refuses.
    """
    loaded, pretraining = with_initial(request, load_data(request, plan, zoo))
    for notice in loaded.notices:
        if not (all_data and isinstance(notice, ScoringNotice)):
            progress.notice(notice)
    if not request.threads and (note := executor.cores_note()):
        progress.notice(note)
    setup = job_setup(request, plan, zoo, DataReference(loaded.encoded.key, loaded.spec))
    setup = replace(setup, pretraining=pretraining)
    alone = job_limits(request, executor)
    inspected, setup, refused = inspect(executor, setup, alone, progress, rows, trials)
    limits, environment = alone, inspected
    if setup.execution.device == "cpu":
        limits = job_limits(request, executor, models_trained(request, plan))
    if limits.threads != alone.threads:
        environment = {**inspected, "threads": limits.threads}
    config = {
        "task": request.task,
        "task_options": request.recorded_options,
        "data": loaded.description,
        "sizes": request.sizes.model_dump(),
        "training": request.training.model_dump(),
        "execution": {
            "precision": environment["precision"],
            "compile": request.execution.compile,
        },
    }
    if pretraining.init:
        config["pretraining"] = pretraining.model_dump()
    if request.tuned:
        config["tuning"] = {
            "values": {name: list(values) for name, values in request.tuned.items()},
            "seeds": request.tuning_seeds,
            "share": request.tuning_share,
        }
    return Prepared(loaded, setup, limits, alone, config, environment, inspected, refused)


def load_data(request: Request, plan: Plan, zoo: Zoo) -> Loaded:
    """The data of a request, encoded; ZooError where they cannot be had."""
    options = plan.task.options.model_validate(request.task_options)
    given = {"tokenizer": request.initial.tokenizer} if request.initial else {}
    return plan.task.load(request.data, options, request.sizes, zoo.registry, **given)


def inspect(
    executor: Executor,
    setup: JobSetup,
    limits: Limits,
    progress: Progress,
    rows: Sequence[PlanRow],
    trials: Sequence[ModelSpec] = (),
) -> tuple[Mapping[str, Any], JobSetup, Mapping[str, str]]:
    """The environment that jobs will run in, and the setup with device and precision resolved.

    Third, the trials that a component refuses, by name, with the reason. Raises ZooError where the
    machine has no such device or a component refuses its parameters.
    """
    given = tuple(row.model for row in rows if any(map(_given, row.choices)))
    job = InspectJob(setup, "this machine", "inspect", models=given, trials=tuple(trials))
    result = run_one(executor, job, Limits(threads=limits.threads), progress)
    if result.rejected:
        raise ZooError(result.reason)
    if result.status != "ok":
        raise ZooError(f"the work cannot start: {result.reason}")
    environment = result.environment
    resolved = Execution(
        device=environment["device"],
        precision=environment["precision"],
        compile=setup.execution.compile,
    )
    return environment, replace(setup, execution=resolved), result.metrics.get("refused", {})


def _given(choice: Choice) -> bool:
    """Whether it, or what it is built around, was given parameters."""
    return any(one.given for one in choice.nested)


def run_jobs(
    executor: Executor,
    jobs: Sequence[Job],
    limits: Limits,
    directory: Path,
    progress: Progress,
    ended: Callable[[Job, Result], None],
    metrics: Sequence[MetricDescription] = (),
    phase: str = "",
) -> None:
    """Run jobs; ``ended`` has each result before anything else happens.

    phase: a name to show, once the executor has accepted the jobs.
    """
    # Closed at once when the run is interrupted, which stops the jobs.
    with contextlib.closing(executor.run(jobs, limits=limits, directory=directory)) as events:
        if phase:
            progress.phase(phase, len(jobs))
        for event in events:
            if isinstance(event, Ended):
                ended(event.job, event.result)
            progress.event(event, metrics)


def run_one(executor: Executor, job: InspectJob, limits: Limits, progress: Progress) -> Result:
    """The result of a job that is run by itself. Of its events, only notices are shown."""
    with tempfile.TemporaryDirectory(prefix="zoo-") as scratch:
        for event in executor.run([job], limits=limits, directory=Path(scratch)):
            if isinstance(event, Ended):
                return event.result
            if isinstance(event, Notice):
                progress.event(event)
    raise RuntimeError(f"the executor {type(executor).__name__} lost the job '{job.name}'")


def job_setup(request: Request, plan: Plan, zoo: Zoo, data: DataReference | None) -> JobSetup:
    """What jobs are given of a request; single-file plug-ins travel as bytes."""
    used = [*(choice for row in plan.runnable for choice in row.choices), *plan.scoring]
    files = {Path(file).name for file in zoo.files}
    plugins = [code for code in plugin_code(used) if code.distribution not in files]
    return JobSetup(
        task=request.task,
        task_options=request.recorded_options,
        sizes=request.sizes,
        training=request.training,
        execution=request.execution,
        data=data,
        plugin_files=tuple(
            PluginFile(Path(file).name, Path(file).read_bytes()) for file in zoo.files
        ),
        plugin_selection=os.environ.get("ZOO_PLUGINS"),
        code=(zoo_code(JOB_CODE), *plugins),
    )


def job_limits(request: Request, executor: Executor, trainings: int = 1) -> Limits:
    """What jobs may use; what is not asked for is as the executor has it.

    trainings: as of ``Executor.default_limits``.
    """
    asked = Limits(request.jobs or 0, request.threads, request.memory_limit, request.timeout)
    return executor.default_limits(asked, trainings)


def likely_limits(request: Request, plan: Plan, executor: Executor) -> Limits:
    """The limits of a plan's trainings, before the machine that runs them has been inspected."""
    on_cpu = seems_to_compute_on(request.execution.device) == "cpu"
    return job_limits(request, executor, models_trained(request, plan) if on_cpu else 1)


def models_trained(request: Request, plan: Plan) -> int:
    """How many trainings a plan has at most, without baselines that fit themselves in seconds."""
    trials = itertools.chain(*all_trials(request, plan))
    return sum(not trial.row.is_estimator for trial in trials)
