"""From a request to a run that can begin: its plan, its data, and the machine that it is for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.config.metric_description import MetricDescription, ranked_by
from zoo.config.request import Request
from zoo.config.settings import SAVED_MODEL, Execution
from zoo.data.sources.row_reader import ScoringNotice
from zoo.errors import StoppedError, ZooError
from zoo.execution.base import (
    DataReference,
    Ended,
    Executor,
    InspectJob,
    JobSetup,
    Limits,
    Notice,
    PluginFile,
    Result,
)
from zoo.files import scratch_directory
from zoo.registry import Choice
from zoo.registry.code_hash import plugin_code, zoo_code
from zoo.registry.loading import Zoo
from zoo.sweep.keys import JOB_CODE
from zoo.sweep.plan import Plan, Row, all_trainings, make_plan
from zoo.sweep.progress import Progress
from zoo.sweep.run import PreparedRun, job_limits
from zoo.tasks.base import Loaded


def open_executor(zoo: Zoo, on: str | Choice) -> contextlib.closing[Executor]:
    """The executor chosen, or of that name, connected now and closed at the end.

    Raises ZooError where there is none, or it cannot connect.
    """
    choice = zoo.registry.choose("executor", on) if isinstance(on, str) else on
    executor = choice.build()
    executor.connect()
    return contextlib.closing(executor)


def prepare_run(
    request: Request, zoo: Zoo, executor: Executor, progress: Progress, *, all_data: bool = False
) -> PreparedRun:
    """Plan a request, load its data, and inspect the machine.

    Rows whose components were given parameters are built once, to see that they can be. all_data:
    nothing is scored, and notices of what is held out are not said. Raises ZooError for anything
    asked for that cannot be had.
    """
    at_lengths = bool(request.lengths)
    if at_lengths:  # on made-up texts, which no baseline reads
        request = request.model_copy(update={"baseline": "none", "jobs": 1})
    plan = make_plan(request, zoo.registry)
    loaded = None if at_lengths else load_data(request, plan, zoo)
    if loaded is not None:
        _say_notices(loaded, progress, all_data=all_data)
    alone, setup = job_limits(request, executor), job_setup(request, plan, zoo, loaded)
    environment, setup = inspect(executor, setup, alone, progress, plan.runnable)
    limits = training_limits(request, plan, executor, setup.execution.device)
    cost_limits = measuring_limits(request, alone, setup)
    config = lengths_config(request) if loaded is None else recorded_config(request, loaded)
    config["execution"] = setup.execution.model_dump(exclude={"device"})
    if setup.pretraining.init:
        config["pretraining"] = setup.pretraining.model_dump()
    metrics: tuple[MetricDescription, ...] = ()
    if loaded is not None:
        plan = plan.with_data(loaded.conditions)
        task_metrics = plan.task.metrics_from(zoo.registry, loaded.encoded.label_names)
        metrics = ranked_by([metric.description for metric in task_metrics], request.metric)
    return PreparedRun(
        request=request,
        zoo=zoo,
        plan=plan,
        executor=executor,
        progress=progress,
        setup=setup,
        limits=limits,
        cost_limits=cost_limits,
        config=config,
        environment={**environment, "threads": limits.threads},
        cost_environment={**environment, "threads": cost_limits.threads},
        metrics=metrics,
        loaded=loaded,
    )


def _say_notices(loaded: Loaded, progress: Progress, *, all_data: bool) -> None:
    """Say what the report will not say of the data."""
    remarks = loaded.description.get("remarks", [])
    notices = [
        notice
        for notice in dict.fromkeys(loaded.notices)
        if notice not in remarks and not (all_data and isinstance(notice, ScoringNotice))
    ]
    if notices:
        progress.notice("; ".join(notices))


def lengths_config(request: Request) -> dict[str, Any]:
    """The part of the config of records of several lengths that depends on no machine."""
    sizes = request.sizes.model_dump(exclude={"max_length"})
    return {
        "task": request.task,
        "task_options": request.recorded_options,
        "over": "length",
        "base": {**sizes, "batch": request.training.batch_size},
        "training": {"dropout": request.training.dropout},
    }


def dry_plan(request: Request, zoo: Zoo, executor: Executor) -> Plan:
    """The plan of a request whose data are there; they are not read.

    On a cluster the nodes have described themselves afterwards (``Node.problem``). Raises ZooError
    for data that do not exist.
    """
    plan = make_plan(request, zoo.registry)
    if (test := request.task_options.get("test")) and not Path(test).expanduser().exists():
        raise ZooError(f"--test {test}: no such file or directory")
    if executor.nodes() is not None:
        inspect(executor, job_setup(request, plan, zoo), job_limits(request, executor), Progress())
    return plan


def recorded_config(request: Request, loaded: Loaded) -> dict[str, Any]:
    """The part of the config of a request's records that depends on no machine."""
    config = {
        "task": request.task,
        "task_options": request.recorded_options,
        "data": loaded.description,
        "sizes": request.sizes.model_dump(),
        "training": request.training.model_dump(),
    }
    if request.tuned:
        config["tuning"] = {
            "values": {name: list(values) for name, values in request.tuned.items()},
            "seeds": request.tuning_seeds,
            "share": request.tuning_share,
        }
    return config


def load_data(request: Request, plan: Plan, zoo: Zoo) -> Loaded:
    """The data of a request, encoded, with the weights of ``--init MODEL`` among them.

    Every machine that runs a job then has them. Raises ZooError where the data cannot be had.
    """
    options = plan.task.options.model_validate(request.task_options)
    initial = request.initial
    with_its = {"tokenizer": initial.tokenizer} if initial is not None else {}
    loaded = plan.task.load(request.data, options, request.sizes, zoo.registry, **with_its)
    if initial is None:
        return loaded
    encoded = loaded.encoded.with_file(SAVED_MODEL, initial.weights.read_bytes())
    return replace(loaded, encoded=encoded, spec="")


def inspect(
    executor: Executor,
    setup: JobSetup,
    limits: Limits,
    progress: Progress,
    rows: Sequence[Row] = (),
) -> tuple[Mapping[str, Any], JobSetup]:
    """The environment that jobs will run in, and the setup with device and precision resolved.

    Raises ZooError where the machine has no such device or a component refuses its parameters, and
    StoppedError where the process that looks at the machine is killed, runs out of memory or
    crashes.
    """
    with_parameters = tuple(row.model for row in rows if any(c.given for c in row.choices))
    job = InspectJob(setup, "this machine", "inspect", models=with_parameters)
    result = Result("lost", "the executor lost the inspection of the machine")
    with scratch_directory() as scratch:
        own = Limits(threads=limits.threads)
        for event in executor.run([job], limits=own, directory=scratch):
            if isinstance(event, Ended):
                result = event.result
            elif isinstance(event, Notice):
                progress.event(event)
    if result.rejected:
        raise ZooError(result.reason)
    if result.status != "ok":
        raise StoppedError(f"the work cannot start: {result.reason}")
    environment = result.environment
    resolved = Execution(
        device=environment["device"],
        precision=environment["precision"],
        compile=setup.execution.compile,
    )
    return environment, replace(setup, execution=resolved)


def job_setup(request: Request, plan: Plan, zoo: Zoo, loaded: Loaded | None = None) -> JobSetup:
    """What jobs are given of a request; single-file plug-ins travel as bytes."""
    used = [*(choice for row in plan.runnable for choice in row.choices), *plan.scoring]
    files = [Path(file) for file in zoo.files]
    names = {file.name for file in files}
    plugins = [code for code in plugin_code(used) if code.distribution not in names]
    pretraining = request.pretraining
    if request.initial is not None:  # of a path, records and jobs have the name and the hash
        pretraining = pretraining.model_copy(update={"init": request.initial.name})
    return JobSetup(
        task=request.task,
        task_options=request.recorded_options,
        sizes=request.sizes,
        training=request.training,
        execution=request.execution,
        data=DataReference(loaded.encoded.key, loaded.spec) if loaded is not None else None,
        plugin_files=tuple(PluginFile(file.name, file.read_bytes()) for file in files),
        plugin_selection=os.environ.get("ZOO_PLUGINS"),
        code=(zoo_code(JOB_CODE), *plugins),
        pretraining=pretraining,
    )


def measuring_limits(request: Request, alone: Limits, setup: JobSetup) -> Limits:
    """The limits of cost measurements: on a CPU one thread, unless others were asked for."""
    return (
        replace(alone, threads=request.threads or 1) if setup.execution.device == "cpu" else alone
    )


def training_limits(request: Request, plan: Plan, executor: Executor, device: str) -> Limits:
    """The limits of a plan's trainings on this device.

    On a CPU they share its cores; baselines that are fitted in seconds do not count.
    """
    if device != "cpu":
        return job_limits(request, executor)
    trainings = sum(row.tunable for row, _, _ in all_trainings(request, plan))
    return job_limits(request, executor, trainings)
